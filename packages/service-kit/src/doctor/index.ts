export {
  evaluateInnerUrl,
  evaluatePostgresUrl,
  evaluatePublicUrl,
  isLoopback,
  isProduction
} from './evaluate-addresses.js'
export { evaluateClock, measureClock } from './evaluate-clock.js'
export { evaluateKeys } from './evaluate-keys.js'
export { evaluateProxies } from './evaluate-proxies.js'
export { examinePostgres } from './examine-postgres.js'
export { fileChangedAt } from './file-age.js'
export {
  type Complaint,
  type Finding,
  fatal,
  findingsOfUnreadable,
  graveInProduction,
  ok,
  refuseFatal,
  warning
} from './finding.js'
export { printFindings } from './report.js'
