import { countsOf, type Report, type Result } from '../run-checks.js'

const TEXTS = {
  passed: 'ok',
  failed: 'not ok',
  expected: 'not ok',
  stale: 'not ok',
  skipped: 'ok',
  'not tested': 'not ok'
}

/** Test Anything Protocol, version 14. Exchanges only of checks that did not pass. */
export function toTap(report: Report): string {
  const lines = report.results.flatMap((result, index) => [pointOf(result, index + 1), ...diagnosisOf(result)])
  const counts = Object.entries(countsOf(report)).flatMap(([status, count]) =>
    count > 0 ? [`${count} ${status}`] : []
  )
  const head = ['TAP version 14', `1..${report.results.length}`, `# ${report.issuer}, profile ${report.profile}`]
  return `${[...head, ...lines, `# ${counts.join(', ')}`].join('\n')}\n`
}

function pointOf({ check, status, message }: Result, number: number): string {
  const line = `${TEXTS[status]} ${number} - ${check.id}: ${escapeTap(check.title)}`
  if (status === 'skipped') return `${line} # SKIP ${escapeTap(message)}`
  return status === 'expected' ? `${line} # TODO expected failure: ${escapeTap(message)}` : line
}

/** `#` begins a directive. A message can quote the server, and control characters would reach the terminal. */
function escapeTap(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('#', '\\#')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
}

/** A YAML block; JSON texts are YAML. */
function diagnosisOf({ check, status, message, exchanges }: Result): string[] {
  if (status === 'passed' || status === 'skipped') return []
  const { section, level, hint } = check
  const members = Object.entries({ status, message, section, level, hint, exchanges })
  return ['  ---', ...members.map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`), '  ...']
}
