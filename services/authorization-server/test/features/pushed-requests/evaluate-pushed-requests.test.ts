import { expect, test } from '@jest/globals'
import { evaluatePushedRequests } from '../../../src/features/pushed-requests/evaluate-pushed-requests.js'

type Settings = Parameters<typeof evaluatePushedRequests>[0]

type Case = {
  name: string
  pushedRequests: Settings['pushedRequests']
  mode?: Settings['clientMetadata']['policy']['mode']
  clients?: string[]
  severity: string
  says: RegExp
}

const SIX = ['a', 'b', 'c', 'd', 'e', 'f']

test.each<Case>([
  { name: 'off', pushedRequests: 'off', mode: 'open', severity: 'ok', says: /off/ },
  {
    name: 'off with a client that must push',
    pushedRequests: 'off',
    clients: ['bank'],
    severity: 'warning',
    says: /bank/
  },
  {
    name: 'off with many such',
    pushedRequests: 'off',
    clients: SIX,
    severity: 'warning',
    says: /a, b, c, d, e and 1 more/
  },
  { name: 'allowed', pushedRequests: 'allowed', mode: 'open', clients: ['bank'], severity: 'ok', says: /allowed/ },
  { name: 'required', pushedRequests: 'required', clients: ['bank'], severity: 'ok', says: /required/ },
  {
    name: 'required with client id URLs',
    pushedRequests: 'required',
    mode: 'listed',
    severity: 'warning',
    says: /CLIENT_ID_METADATA is listed/
  }
])('doctor: PUSHED_REQUESTS $name is $severity', ({ pushedRequests, mode = 'off', clients = [], severity, says }) => {
  const finding = evaluatePushedRequests({ pushedRequests, clientMetadata: { policy: { mode } } }, clients)
  expect(finding.severity).toBe(severity)
  expect(JSON.stringify(finding)).toMatch(says)
})
