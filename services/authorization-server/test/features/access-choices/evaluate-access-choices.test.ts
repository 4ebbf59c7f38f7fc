import { expect, test } from '@jest/globals'
import { evaluateAccessChoices } from '../../../src/features/access-choices/evaluate-access-choices.js'

const evaluate = (choices: { value: string; seconds: number | undefined }[]) =>
  evaluateAccessChoices({ accessChoices: { choices, preselected: undefined }, refreshTokenMaxTtl: 86_400 })

test.each([
  { name: 'off', choices: [], severity: 'ok', says: /is off/ },
  {
    name: 'possible',
    choices: [
      { value: '1d', seconds: 86_400 },
      { value: 'until_ended', seconds: undefined }
    ],
    severity: 'ok',
    says: /is 1d, until_ended/
  },
  {
    name: 'longer than REFRESH_TOKEN_MAX_TTL',
    choices: [
      { value: '1h', seconds: 3_600 },
      { value: '2d', seconds: 172_800 }
    ],
    severity: 'warning',
    says: /longer than REFRESH_TOKEN_MAX_TTL: 2d/
  }
])('doctor: ACCESS_CHOICES $name is $severity', ({ choices, severity, says }) => {
  const finding = evaluate(choices)
  expect(finding.severity).toBe(severity)
  expect(JSON.stringify(finding)).toMatch(says)
})
