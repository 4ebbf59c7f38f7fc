import { expect, test } from '@jest/globals'
import { evaluateApis } from '../../../src/operator/doctor/evaluate-apis.js'

const FILES = 'https://files.example'
const REPORTS = 'https://reports.example'
const SCOPES = [
  { name: 'files.read', audience: undefined },
  { name: 'reports.read', audience: REPORTS }
]

test.each([
  { name: 'each scope has an API and each API a scope', audiences: [FILES, REPORTS], says: [] },
  { name: 'the default API in another spelling', audiences: [`${FILES}/`, REPORTS], says: [] },
  { name: 'no credential for the API of a scope', audiences: [FILES], says: [/without a credential: reports\.read$/] },
  { name: 'no credential for the default API', audiences: [REPORTS], says: [/without a credential: files\.read$/] },
  {
    name: 'an API without a scope',
    audiences: [FILES, REPORTS, 'https://photos.example'],
    says: [/without a scope: https:\/\/photos\.example$/]
  },
  { name: 'nothing is registered', audiences: [], says: [/files\.read, reports\.read$/] }
])('doctor: $name', ({ audiences, says }) => {
  const warnings = evaluateApis({ scopes: SCOPES, audiences }, FILES).filter(({ severity }) => severity === 'warning')
  expect(warnings.map((finding) => ('what' in finding ? finding.what : ''))).toEqual(
    says.map((words) => expect.stringMatching(words))
  )
})
