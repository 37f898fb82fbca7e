import { describeFlavour } from './flavour.ts'

describeFlavour('resumption')
