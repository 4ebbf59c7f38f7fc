export { isLoopback, isProduction, judgeInnerUrl, judgePostgresUrl, judgePublicUrl } from './evaluate-addresses.js'
export { judgeClock, measureClock } from './evaluate-clock.js'
export { judgeKeys } from './evaluate-keys.js'
export { judgeProxies } from './evaluate-proxies.js'
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
