import { describeFlavour } from './flavour.ts'

describeFlavour('post')
