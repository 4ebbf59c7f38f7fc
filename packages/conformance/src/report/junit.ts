import { countsOf, type Report, type Result } from '../run-checks.js'

/** JUnit XML, as CI services read it. An expected failure is `skipped`, because the format has no such state. */
export function toJunit(report: Report): string {
  const counts = countsOf(report)
  const attributes = attributesOf({
    name: `${report.issuer}, profile ${report.profile}`,
    tests: report.results.length,
    failures: counts.failed + counts.stale,
    errors: counts['not tested'],
    skipped: counts.skipped + counts.expected
  })
  const cases = report.results.map(caseOf)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite${attributes}>\n${cases.join('\n')}\n</testsuite>\n`
}

function caseOf(result: Result): string {
  const { check, status } = result
  const head = `  <testcase${attributesOf({ classname: check.id, name: `${check.title} (${check.level}, ${check.section})` })}`
  const element = {
    passed: '',
    failed: 'failure',
    stale: 'failure',
    'not tested': 'error',
    skipped: 'skipped',
    expected: 'skipped'
  }
  const tag = element[status]
  if (tag === '') return `${head}/>`
  const message = status === 'expected' ? `expected failure: ${result.message}` : result.message
  return `${head}><${tag}${attributesOf({ message })}>${escapeXml(detailsOf(result))}</${tag}></testcase>`
}

function detailsOf({ check, status, exchanges }: Result): string {
  return status === 'skipped' ? '' : `${check.hint}\n${JSON.stringify(exchanges, undefined, 1)}`
}

function attributesOf(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** XML 1.0 has no other control characters and no lone surrogates. */
function escapeXml(text: string): string {
  const allowed = text.replaceAll(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
  return allowed.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
