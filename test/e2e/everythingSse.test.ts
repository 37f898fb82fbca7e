import { describeEverything } from './everythingSuite.ts'

describeEverything('sse')
