import { describeFlavour } from './flavour.ts'

describeFlavour('sse')
