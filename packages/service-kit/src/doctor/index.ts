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
export { isLoopback, isProduction, judgeInnerUrl, judgePostgresUrl, judgePublicUrl } from './judge-addresses.js'
export { judgeClock, measureClock } from './judge-clock.js'
export { judgeKeys } from './judge-keys.js'
export { judgeProxies } from './judge-proxies.js'
export { printFindings } from './report.js'
