import { expect, test } from '@jest/globals'
import { toJson } from '../../src/report/json.js'
import { exampleReport } from '../support/example-report.js'

test('JSON has the counts, and section, level, hint and exchanges of every check', () => {
  const document = JSON.parse(toJson(exampleReport))
  expect(document).toMatchObject({ issuer: 'https://as.example', profile: 'bcp', counts: { passed: 1, failed: 1 } })
  expect(document.results).toHaveLength(6)
  expect(document.results[1]).toMatchObject({
    id: 'b',
    section: 'RFC 6749 §5.2',
    level: 'MUST',
    status: 'failed',
    hint: 'Repair it.',
    exchanges: [{ request: { url: 'https://as.example/?a=1&b=2' } }]
  })
})
