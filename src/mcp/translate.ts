/**
 * The way of every message between the revisions, on bytes. `obligations.md` calls the rows X-…; each stands
 * in a table or in one line of these files, and what no row names passes byte for byte.
 *
 * | message | way | rows |
 * |---|---|---|
 * | request | `requestUp` | X-ENV-01 … 05, 13, X-RES-06 |
 * | result | `resultDown` | X-ENV-06 … 09, X-LST-01, 02, 08, X-RES-01, 05 |
 * | error | `errorDown`, `urlElicitations` | X-ERR-01, 02, 04, 06, 08 |
 * | notification | `notificationDown` | X-PRG-01, X-SUB-02 … 07, X-ENV-09 |
 * | server request | `readQuestion` (question.ts) | X-SRQ-01 … 10, 14 |
 * | answer | `checkInputResponse` (exchange/inputResponses.ts) | X-ANS-01 … 07 |
 * | handshake | `initializeCapabilities`, `discoverResult` (capabilities.ts) | X-CAP-01 … 13, 17 |
 */
export { type ErrorDown, errorDown } from './errorDown.ts'
export type { Framed } from './framed.ts'
export { atLeast, logLevelOf } from './logLevel.ts'
export { notificationDown, progressOf, progressTokenOf } from './notificationDown.ts'
export { requestUp } from './requestUp.ts'
export { type Hints, isTask, resultDown } from './resultDown.ts'
export { metaOf } from './resultMeta.ts'
export { type UrlElicitation, urlElicitations } from './urlElicitations.ts'
