#!/usr/bin/env node
import { cac } from 'cac'
import { version } from './version.ts'

const cli = cac('mrtr-proxy')

cli
  .command('serve', 'Run the proxy in front of legacy MCP servers')
  .option(
    '--upstream <url>',
    'URL of the legacy server, Streamable HTTP or HTTP+SSE; all that is needed, served at /mcp',
  )
  .option('--listen <address>', 'Where clients connect, host:port or a port (default: 127.0.0.1:8808)')
  .option('--admin <address>', 'Where health is told, or off (default: 127.0.0.1:8809)')
  .option('--config <file>', 'YAML file with options; see config/ in the package for two to start from')
  .option('--set <path=value>', 'Sets one option, such as routes.0.exchange.holdMs=0; may be repeated')
  .option('--log-level <level>', 'silent, fatal, error, warn, info, debug or trace (default: info)')
  .example('  mrtr-proxy serve --upstream http://127.0.0.1:3001/sse')
  .example('  mrtr-proxy serve --config proxy.yaml --set http.drainMs=5000')
  .action(async (flags) => {
    const { serve } = await import('./serve.ts')
    await serve(flags)
  })

cli
  .command(
    'probe <url>',
    'Tell what clients of 2026-07-28 will see of a server; exits with 1 if it cannot be used',
  )
  .option('--header <name: value>', 'Sent with every request, such as authorization; may be repeated')
  .option('--timeout <ms>', 'How long it may take, in milliseconds (default: 10000)')
  .option('--json', 'For programs')
  .example("  mrtr-proxy probe http://127.0.0.1:3001/mcp --header 'authorization: Bearer …'")
  .action(async (url: unknown, flags) => {
    const { runProbe } = await import('./probe/command.ts')
    process.exitCode = await runProbe(String(url), flags)
  })

cli
  .command('demo', 'Show a call over two rounds, with a legacy server and the official client')
  .action(async () => {
    const { runDemo } = await import('./demo/demo.ts')
    process.exitCode = await runDemo()
  })

cli.command('keys', 'Print a new random key for requestState.keys').action(async () => {
  const { randomBytes } = await import('node:crypto')
  process.stdout.write(`${randomBytes(32).toString('base64url')}\n`)
})

/** Commands that the documentation of later versions names. */
const LATER = ['inspect']

cli.help()
cli.version(version)

function fail(line: string): void {
  process.stderr.write(`mrtr-proxy: ${line}\n`)
  process.exitCode = 2
}

try {
  const { args, options } = cli.parse(process.argv, { run: false })
  if (cli.matchedCommand !== undefined) await cli.runMatchedCommand()
  else if (!options.help && !options.version) {
    const [name] = args
    if (name === undefined) fail('a command is missing: see --help')
    else
      fail(
        LATER.includes(name) ? `${name} is not in this version` : `there is no command ${name}: see --help`,
      )
  }
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}
