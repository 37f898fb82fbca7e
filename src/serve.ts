import { createGateway, type Gateway } from './gateway.ts'
import { partsOf } from './http/address.ts'
import { createLog, type Log } from './observe/log.ts'
import { loadOptions, OptionsError } from './options/load.ts'
import type { Options } from './options/schema.ts'

/** What the command line gave; cac makes one value of an option that is given once. */
export interface ServeFlags {
  readonly upstream?: string
  readonly listen?: string | number
  readonly admin?: string | number
  readonly config?: string | number
  readonly set?: string | readonly string[]
  readonly logLevel?: string
}

/** Runs the gateway until a signal ends it: 2 for bad options, 1 if it cannot listen, 0 after a drain. */
export async function serve(flags: ServeFlags): Promise<void> {
  const options = load(flags)
  if (options === undefined) return
  const log = createLog(options.logLevel)
  try {
    const gateway = createGateway(options, { log })
    const { url } = await gateway.listen()
    // Before anybody is told that it serves, since they may signal at once.
    handleSignals(gateway, options, log)
    for (const route of options.routes) {
      log.info(
        { url: url(route.path), upstream: new URL(route.upstream.url).host, admin: options.admin },
        'serving',
      )
    }
  } catch (error) {
    process.stderr.write(`mrtr-proxy: cannot start: ${reasonOf(error, options)}\n`)
    process.exit(1)
  }
}

/** Which of the two addresses is taken, and what to do about it. */
function reasonOf(error: unknown, options: Options): string {
  if (!(error instanceof Error)) return String(error)
  if (!('code' in error) || error.code !== 'EADDRINUSE' || !('port' in error)) return error.message
  const admin = options.admin !== 'off' && partsOf(options.admin).port === error.port
  const [address, advice] = admin ? [options.admin, '--admin, or off'] : [options.listen, '--listen']
  return `${address} is in use: choose another with ${advice}`
}

function load(flags: ServeFlags): Options | undefined {
  try {
    return loadOptions({
      file: flags.config?.toString(),
      env: process.env,
      flags: {
        upstream: flags.upstream,
        listen: flags.listen?.toString(),
        admin: flags.admin?.toString(),
        logLevel: flags.logLevel,
        set: typeof flags.set === 'string' ? [flags.set] : flags.set,
      },
    })
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    for (const problem of error.problems) process.stderr.write(`mrtr-proxy: ${problem}\n`)
    process.exitCode = 2
    return undefined
  }
}

function handleSignals(gateway: Gateway, options: Options, log: Log): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    const { drainMs } = options.http
    log.info({ signal, ...gateway.counts(), drainMs }, 'draining; a second signal ends it at once')
    void gateway.drain().then((left) => {
      log.info(left, 'stopped')
      process.exit(0)
    })
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', () => {
    try {
      gateway.reload()
      log.info('keys read again')
    } catch (error) {
      log.error({ err: error }, 'the keys could not be read again, the old ones stay')
    }
  })
}
