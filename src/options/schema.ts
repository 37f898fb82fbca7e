import { z } from 'zod'
import * as kind from './kinds.ts'

const upstream = z.strictObject({
  url: kind.url.describe('Where the server is; for HTTP+SSE the address of its event stream'),
  transport: z
    .enum(['auto', 'streamable-http', 'http+sse'])
    .default('auto')
    .describe('Transport of the server; auto finds out as the transports page says'),
  era: z.enum(['auto', 'legacy', 'modern']).default('auto').describe('Era of the server'),
  headers: kind.headers.default({}).describe('Fixed headers on every request to the server'),
  forwardHeaders: z
    .array(kind.header)
    .default(['authorization'])
    .describe('Headers of clients that go to the server; [] if proxy and server are not one resource'),
  requestTimeoutMs: kind.timeout(600_000, 'How long the server may work on a call without progress'),
  maxTimeoutMs: kind.timeout(
    1_800_000,
    'How long the server may work on a call in all, whatever progress it shows',
  ),
  ca: kind.file.describe('Certificate authority of the server'),
  cert: kind.file.describe('Client certificate for the server'),
  key: kind.file.describe('Key of the client certificate'),
})

const sessions = kind.section({
  max: kind.count(4096, 'Sessions with the server, in all'),
  maxPerPrincipal: kind.count(256, 'Sessions with the server for one principal'),
  maxOpening: kind.count(8, 'Sessions that are opened at a time'),
  waitMs: kind.ms(5_000, 'How long a call waits for a session'),
  idleTtlMs: kind.ms(300_000, 'How long an idle session is kept'),
  affinity: z
    .enum(['none', 'context'])
    .default('none')
    .describe(
      'context: all calls of an authorization context share one session, one interruptible call at a time',
    ),
  reuse: z
    .boolean()
    .default(true)
    .describe('false: one session per exchange, for servers that trust what a session was told'),
  anonymous: z
    .enum(['auto', 'share', 'isolate'])
    .default('auto')
    .describe('Whether callers without credentials share sessions; auto: only on loopback'),
  capabilities: z
    .enum(['mirror', 'all'])
    .default('mirror')
    .describe('What sessions declare: what the client declared, or everything'),
})

const exchange = kind.section({
  inputTtlMs: kind.ms(600_000, 'How long a suspended call waits for its client'),
  settleMs: kind.wait(15, 'Quiet time after a question before the round goes to the client', 10_000),
  rootsQuietMs: kind.wait(250, 'Quiet time before roots alone make a round', 60_000),
  graceMs: kind.wait(2_000, 'How long a call runs on after its last retry left'),
  holdMs: kind.orOff(50_000, 'How long a leg stays open before the client is asked to come back'),
  holdTtlMs: kind.ms(30_000, 'How long a running call waits for a client that was asked to come back'),
  maxSuspended: kind.count(3072, 'Suspended calls, in all; beyond, calls of tools known to ask are refused'),
  maxSuspendedPerPrincipal: kind.count(192, 'Suspended calls of one principal'),
  replay: z
    .enum(['never', 'annotated', 'always'])
    .default('annotated')
    .describe('Which lost calls are run again'),
  replayTools: z.record(z.string(), z.boolean()).default({}).describe('The same by tool'),
})

const route = z.strictObject({
  path: kind.path.default('/mcp').describe('Path that is served'),
  publicUrl: kind.publicUrl
    .nullable()
    .default(null)
    .describe('Our URL as clients use it, where another proxy stands in front'),
  upstream,
  legacyClients: z
    .enum(['pass', 'refuse'])
    .default('pass')
    .describe('Whether clients of earlier revisions are passed through'),
  sessions,
  exchange,
  cache: kind.section({
    ttlMs: kind.wait(0, 'Hint to clients: how long discover and lists may be kept'),
    scope: z
      .enum(['private', 'public'])
      .default('private')
      .describe('Hint to clients: who may share discover and lists'),
    memoryMs: kind.orOff(0, 'How long we keep lists of servers that announce no changes'),
  }),
  tasks: kind.section({
    dialect: z.enum(['extension', 'sep2322']).default('extension').describe('How tasks are shown'),
    promoteAfterMs: kind.orOff(0, 'When a long call becomes a task'),
    withoutExtension: z
      .enum(['drive', 'refuse'])
      .default('drive')
      .describe('What happens to tools that only work as tasks for clients without the extension'),
  }),
})

const orAbsent = (given: string | null | undefined): string | undefined => given ?? undefined
const word = z.string().min(1).nullish().transform(orAbsent)

const principal = kind.section({
  from: z
    .enum(['authorization', 'header', 'jwt', 'none'])
    .default('authorization')
    .describe('What tells callers apart'),
  name: kind.header.nullish().transform(orAbsent).describe('Name of the header, for header'),
  issuer: word.describe('Issuer of the tokens, for jwt'),
  audience: word.describe('Audience of the tokens, for jwt'),
  jwks: word.describe('Key set of the issuer, for jwt: a URL or a file'),
})

/** Every option of the gateway, with its default and what it is for (design §10). */
export const optionsSchema = z.strictObject({
  listen: kind.address.default('127.0.0.1:8808').describe('Address that clients connect to'),
  admin: kind.addressOrOff.default('127.0.0.1:8809').describe('Address for health; off'),
  logLevel: z
    .enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'])
    .default('info')
    .describe('Least severe level that is logged'),
  tls: kind.section({
    cert: kind.file.describe('Our certificate'),
    key: kind.file.describe('Its key'),
    clientCa: kind.file.describe('Authority of the certificates that clients must show'),
  }),
  routes: z.array(route).min(1).describe('What is served'),
  principal,
  requestState: kind.section({
    keys: z
      .array(kind.key)
      .default([])
      .describe('Keys of 32 bytes, hex or base64url; the first seals, all open'),
    keysFile: kind.file.describe('File with a key per line; read again on SIGHUP'),
  }),
  cluster: kind.section({
    redis: z.string().nullable().default(null).describe('Redis or Valkey that replicas share'),
    peer: kind.address.default('127.0.0.1:0').describe('Address that other replicas connect to'),
    advertise: kind.address.nullable().default(null).describe('The same address as others see it'),
  }),
  limits: kind.section({
    maxConnections: kind.count(2000, 'Open connections of clients, in all'),
    maxConcurrentPerPrincipal: kind.count(256, 'Requests of one principal at a time'),
    maxPerAddress: kind.count(
      256,
      'Open connections from one address; loopback and trusted proxies are exempt',
    ),
  }),
  http: kind.section({
    allowedHosts: z
      .array(kind.host)
      .default([])
      .describe('Hosts that requests may name; loopback names where we listen on loopback'),
    allowedOrigins: z
      .array(kind.origin)
      .default([])
      .describe('Origins that browsers may send requests from; loopback ones where we listen on loopback'),
    corsOrigins: z.array(kind.origin).default([]).describe('Origins that get CORS headers'),
    trustedProxies: z.array(kind.network).default([]).describe('Addresses and subnets of proxies in front'),
    maxBodyBytes: z
      .number()
      .int()
      .min(1024)
      .max(1024 * 1024 * 1024)
      .default(4_194_304)
      .describe('Largest request body (bytes)'),
    drainMs: kind.wait(30_000, 'How long a shutdown waits for what runs or waits'),
    lameDuckMs: kind.wait(0, 'How long new calls are still taken after a shutdown began'),
  }),
})

type DeepReadonly<T> = T extends readonly (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** Everything resolved, and nothing of it changes. */
export type Options = DeepReadonly<z.output<typeof optionsSchema>>
export type RouteOptions = Options['routes'][number]
export type UpstreamOptions = RouteOptions['upstream']
export type SessionsOptions = RouteOptions['sessions']
export type ExchangeOptions = RouteOptions['exchange']
export type PrincipalOptions = Options['principal']
export type LimitsOptions = Options['limits']
export type HttpOptions = Options['http']
