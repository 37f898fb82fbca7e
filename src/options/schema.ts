import { z } from 'zod'
import * as kind from './kinds.ts'

const upstream = z.strictObject({
  url: kind.url.describe('Where the server is; for HTTP+SSE the address of its event stream'),
  transport: z.enum(['auto', 'streamable-http', 'http+sse']).default('auto').describe('Transport of the server; auto finds out as the transports page says'),
  era: z.enum(['auto', 'legacy', 'modern']).default('auto').describe('Era of the server'),
  headers: z.record(z.string(), z.string()).default({}).describe('Fixed headers on every request to the server'),
  forwardHeaders: z.array(z.string()).default(['authorization']).describe('Headers of clients that go to the server; [] if proxy and server are not one resource'),
  requestTimeoutMs: kind.timeout(600_000, 'How long the server may work on a call without progress'),
  maxTimeoutMs: kind.timeout(1_800_000, 'How long the server may work on a call in all, whatever progress it shows'),
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
  affinity: z.enum(['none', 'context']).default('none').describe('context: all calls of an authorization context share one session, one interruptible call at a time'),
  reuse: z.boolean().default(true).describe('false: one session per exchange, for servers that trust what a session was told'),
  anonymous: z.enum(['auto', 'share', 'isolate']).default('auto').describe('Whether callers without credentials share sessions; auto: only on loopback'),
  capabilities: z.enum(['mirror', 'all']).default('mirror').describe('What sessions declare: what the client declared, or everything'),
})

const exchange = kind.section({
  inputTtlMs: kind.ms(600_000, 'How long a suspended call waits for its client'),
  settleMs: z.number().int().min(0).max(10_000).default(15).describe('Quiet time after a question before the round goes to the client (ms)'),
  rootsQuietMs: z.number().int().min(0).max(60_000).default(250).describe('Quiet time before roots alone make a round (ms)'),
  graceMs: z.number().int().min(0).max(kind.MAX_MS).default(2_000).describe('How long a call runs on after its last retry left (ms)'),
  holdMs: kind.orOff(50_000, 'How long a leg stays open before the client is asked to come back'),
  holdTtlMs: kind.ms(30_000, 'How long a running call waits for a client that was asked to come back'),
  maxSuspended: kind.count(3072, 'Suspended calls, in all; beyond, calls of tools known to ask are refused'),
  maxSuspendedPerPrincipal: kind.count(192, 'Suspended calls of one principal'),
  replay: z.enum(['never', 'annotated', 'always']).default('annotated').describe('Which lost calls are run again'),
  replayTools: z.record(z.string(), z.boolean()).default({}).describe('The same by tool'),
})

const route = z.strictObject({
  path: kind.path.default('/mcp').describe('Path that is served'),
  publicUrl: z.string().nullable().default(null).describe('Our URL as clients use it, where another proxy stands in front'),
  upstream,
  legacyClients: z.enum(['pass', 'refuse']).default('pass').describe('Whether clients of earlier revisions are passed through'),
  sessions,
  exchange,
  cache: kind.section({
    ttlMs: z.number().int().min(0).default(0).describe('Hint to clients: how long discover and lists may be kept (ms)'),
    scope: z.enum(['private', 'public']).default('private').describe('Hint to clients: who may share discover and lists'),
    memoryMs: kind.orOff(0, 'How long we keep lists of servers that announce no changes'),
  }),
  tasks: kind.section({
    dialect: z.enum(['extension', 'sep2322']).default('extension').describe('How tasks are shown'),
    promoteAfterMs: kind.orOff(0, 'When a long call becomes a task'),
    withoutExtension: z.enum(['drive', 'refuse']).default('drive').describe('What happens to tools that only work as tasks for clients without the extension'),
  }),
})

const principal = z.strictObject({
  from: z.enum(['authorization', 'header', 'jwt', 'none']).default('authorization').describe('What tells callers apart'),
  name: z.string().optional().describe('Name of the header, for header'),
  issuer: z.string().optional().describe('Issuer of the tokens, for jwt'),
  audience: z.string().optional().describe('Audience of the tokens, for jwt'),
  jwks: z.string().optional().describe('Key set of the issuer, for jwt: a URL or a file'),
})

/** Every option of the gateway, with its default and what it is for (design §10). */
export const optionsSchema = z.strictObject({
  listen: kind.address.default('127.0.0.1:8808').describe('Address that clients connect to'),
  admin: z.union([z.literal('off'), kind.address]).default('127.0.0.1:8809').describe('Address for health; off'),
  logLevel: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info').describe('Least severe level that is logged'),
  tls: kind.section({ cert: kind.file, key: kind.file, clientCa: kind.file }),
  routes: z.array(route).min(1).describe('What is served'),
  principal: principal.prefault({}),
  requestState: kind.section({
    keys: z.array(kind.key).default([]).describe('Keys of 32 bytes, hex or base64url; the first seals, all open'),
    keysFile: kind.file.describe('File with a key per line; read again on SIGHUP'),
  }),
  cluster: kind.section({
    redis: z.string().nullable().default(null).describe('Redis or Valkey that replicas share'),
    peer: z.string().default('127.0.0.1:0').describe('Address that other replicas connect to'),
    advertise: z.string().nullable().default(null).describe('The same address as others see it'),
  }),
  limits: kind.section({
    maxConnections: kind.count(2000, 'Open connections of clients, in all'),
    maxConcurrentPerPrincipal: kind.count(256, 'Requests of one principal at a time'),
    maxPerAddress: kind.count(256, 'Open connections from one address; loopback and trusted proxies are exempt'),
  }),
  http: kind.section({
    allowedHosts: z.array(z.string()).default([]).describe('Hosts that requests may name; loopback names where we listen on loopback'),
    allowedOrigins: z.array(z.string()).default([]).describe('Origins that browsers may send requests from; loopback ones where we listen on loopback'),
    corsOrigins: z.array(z.string()).default([]).describe('Origins that get CORS headers'),
    trustedProxies: z.array(z.string()).default([]).describe('Addresses of proxies in front'),
    maxBodyBytes: z.number().int().min(1024).max(1024 * 1024 * 1024).default(4_194_304).describe('Largest request body (bytes)'),
    drainMs: z.number().int().min(0).max(kind.MAX_MS).default(30_000).describe('How long a shutdown waits for what runs or waits (ms)'),
    lameDuckMs: z.number().int().min(0).max(kind.MAX_MS).default(0).describe('How long new calls are still taken after a shutdown began (ms)'),
  }),
})

type DeepReadonly<T> = T extends readonly (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

export type Options = DeepReadonly<z.output<typeof optionsSchema>>
export type RouteOptions = Options['routes'][number]
export type PrincipalOptions = Options['principal']
