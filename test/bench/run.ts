/* All benches; each asserts correctness before it prints. Nothing here is a gate. */
import { benchCalls } from './calls.ts'

await import('./scan.ts')
await benchCalls()
