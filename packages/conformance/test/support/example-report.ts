import type { Check } from '../../src/check.js'
import { passed } from '../../src/outcome.js'
import type { Report, Result } from '../../src/run-checks.js'

function result(id: string, status: Result['status'], message = ''): Result {
  const check: Check = {
    id,
    title: 'is <right> & "safe" #1',
    section: 'RFC 6749 §5.2',
    level: 'MUST',
    profiles: ['bcp'],
    hint: 'Repair it.',
    run: () => passed
  }
  const request = { method: 'GET', url: 'https://as.example/?a=1&b=2', headers: {} }
  return { check, status, message, exchanges: [{ request, response: { status: 200, headers: {}, body: ']]>\u0001' } }] }
}

/** One result of each status. */
export const exampleReport: Report = {
  issuer: 'https://as.example',
  profile: 'bcp',
  results: [
    result('a', 'passed'),
    result('b', 'failed', 'says "no" <&>'),
    result('c', 'expected', 'known\u001b\nto us'),
    result('d', 'stale', 'it passed'),
    result('e', 'skipped', 'needs --sign-in'),
    result('f', 'not tested', 'cannot reach')
  ]
}
