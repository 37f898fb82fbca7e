import { describeEverything } from './everythingSuite.ts'

describeEverything('streamableHttp')
