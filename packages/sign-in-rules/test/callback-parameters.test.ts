import { describe, expect, test } from '@jest/globals'
import { evaluateCallback } from '../src/callback-parameters.js'

const issuer = 'https://id.example'
const evaluate = (query: string, announcesIss = false) =>
  evaluateCallback(new URLSearchParams(query), { issuer, announcesIss })
const reasonOf = (query: string, announcesIss = false) => {
  const outcome = evaluate(query, announcesIss)
  return outcome.kind === 'failed' ? outcome.failure.reason : outcome.kind
}

describe('parameters of the callback', () => {
  test.each([
    { name: 'code', query: 'state=s&code=c', announcesIss: false },
    { name: 'code and iss', query: 'state=s&code=c&iss=https://id.example', announcesIss: true },
    { name: 'iss that is not announced', query: 'state=s&code=c&iss=https://id.example', announcesIss: false },
    { name: 'unknown parameters, also repeated', query: 'state=s&code=c&session_state=1&x=1&x=2', announcesIss: false }
  ])('with $name are accepted', ({ query, announcesIss }) => {
    expect(evaluate(query, announcesIss)).toEqual({ kind: 'code' })
  })

  test.each([
    { query: 'state=s&code=c&code=d', reason: 'repeated_parameter' },
    { query: 'state=s&code=c&iss=https://id.example&iss=https://id.example', reason: 'repeated_parameter' },
    { query: 'state=s&error=access_denied&error=server_error', reason: 'repeated_parameter' },
    { query: 'state=s', reason: 'no_code' },
    { query: 'state=s&code=', reason: 'no_code' }
  ])('$query are refused: $reason', ({ query, reason }) => {
    expect(reasonOf(query)).toBe(reason)
  })

  test('are refused without an announced iss, before error and code (RFC 9207 §2.4)', () => {
    expect(reasonOf('state=s&error=access_denied', true)).toBe('missing_iss')
    expect(reasonOf('state=s&code=c', true)).toBe('missing_iss')
  })

  test('are refused with the iss of another provider, announced or not', () => {
    expect(reasonOf('state=s&code=c&iss=https://evil.example', true)).toBe('wrong_iss')
    expect(reasonOf('state=s&error=access_denied&iss=https://id.example/', false)).toBe('wrong_iss')
  })

  test('with error and code are an error', () => {
    expect(reasonOf('state=s&code=c&error=access_denied')).toBe('access_denied')
  })
})
