/** Public surface of the package: embed the gateway in a program of your own. */
export { type Counts, createGateway, type Gateway, type GatewayDeps } from './gateway.ts'
export { loadOptions, OptionsError } from './options/load.ts'
export type { Options, RouteOptions } from './options/schema.ts'
