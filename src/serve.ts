import { createGateway, type Gateway } from './gateway.ts'
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
    handleSignals(gateway, log)
    for (const route of options.routes) {
      log.info(
        { url: url(route.path), upstream: new URL(route.upstream.url).host, admin: options.admin },
        'serving',
      )
    }
  } catch (error) {
    process.stderr.write(`mrtr-proxy: cannot start: ${error instanceof Error ? error.message : error}\n`)
    process.exit(1)
  }
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

function handleSignals(gateway: Gateway, log: Log): void {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'draining')
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
