import { describeFlavour } from './flavour.ts'

describeFlavour('get')
