import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { checkHistory } from './core-model/check-history.mjs'
import { effectsOf } from './core-model/model.mjs'
import { INITIAL, RETRY_WINDOW_MS } from './core-model/model-state.mjs'
import { SEEDED_RACES, withoutCondition } from './core-model/seeded-races.mjs'

type Register = { value: number }
type Step = { start: number; end: number; optional?: boolean }

const write = (value: number, step: Step) => ({ name: `write ${value}`, ...step, apply: () => [{ value }] })
const read = (value: number, step: Step) => ({
  name: `read ${value}`,
  ...step,
  apply: (state: Register) => (state.value === value ? [state] : [])
})
const NEVER = Number.POSITIVE_INFINITY

describe('a history of a register', () => {
  test.each([
    { name: 'a read after a write', history: [write(1, { start: 1, end: 2 }), read(1, { start: 3, end: 4 })] },
    {
      name: 'two reads during a write, the old value first',
      history: [write(1, { start: 1, end: 6 }), read(0, { start: 2, end: 3 }), read(1, { start: 4, end: 5 })]
    },
    {
      name: 'two writes at once, in either order',
      history: [write(1, { start: 1, end: 3 }), write(2, { start: 2, end: 4 }), read(1, { start: 5, end: 6 })]
    },
    {
      name: 'an unknown write that has no effect',
      history: [write(1, { start: 1, end: NEVER, optional: true }), read(0, { start: 2, end: 3 })]
    },
    {
      name: 'an unknown write with a late effect',
      history: [
        write(1, { start: 1, end: NEVER, optional: true }),
        read(0, { start: 2, end: 3 }),
        read(1, { start: 4, end: 5 })
      ]
    },
    {
      name: 'an optional write that took effect before its end',
      history: [write(1, { start: 1, end: 2, optional: true }), read(1, { start: 3, end: 4 })]
    }
  ])('is linearisable: $name', ({ history }) => {
    expect(checkHistory({ value: 0 }, history)).toEqual({ kind: 'linearisable' })
  })

  test.each([
    {
      name: 'a read of the old value after a write',
      history: [write(1, { start: 1, end: 2 }), read(0, { start: 3, end: 4 })]
    },
    {
      name: 'two reads during a write, the new value first',
      history: [write(1, { start: 1, end: 6 }), read(1, { start: 2, end: 3 }), read(0, { start: 4, end: 5 })]
    },
    {
      name: 'a read of a value before its write',
      history: [read(1, { start: 1, end: 2 }), write(1, { start: 3, end: 4 })]
    },
    {
      name: 'an unknown write that takes effect twice',
      history: [
        write(1, { start: 1, end: NEVER, optional: true }),
        read(1, { start: 2, end: 3 }),
        write(2, { start: 4, end: 5 }),
        read(1, { start: 6, end: 7 })
      ]
    },
    {
      name: 'an optional write that takes effect after its end',
      history: [
        write(1, { start: 1, end: 2, optional: true }),
        read(0, { start: 3, end: 4 }),
        read(1, { start: 5, end: 6 })
      ]
    }
  ])('is not linearisable: $name', ({ history }) => {
    expect(checkHistory({ value: 0 }, history)).toMatchObject({ kind: 'impossible' })
  })

  test('is explained by the longest order, and by the operations that cannot follow', () => {
    const history = [write(1, { start: 1, end: 2 }), read(0, { start: 3, end: 4 }), read(1, { start: 5, end: 6 })]
    expect(checkHistory({ value: 0 }, history)).toEqual({
      kind: 'impossible',
      order: ['write 1'],
      stuck: ['read 0'],
      state: { value: 1 }
    })
  })

  test('is undecided after too many steps', () => {
    const history = [write(1, { start: 1, end: 2 }), read(1, { start: 3, end: 4 })]
    expect(checkHistory({ value: 0 }, history, 1)).toEqual({ kind: 'undecided' })
  })
})

type Fields = { kind: string; at?: number; unknown?: true } & Record<string, unknown>

/** Operations one after the other; `at`: milliseconds. `unknown`: may take effect at any later time, or never. */
function verdictOn(fields: readonly Fields[]): string {
  const history = fields.map(({ at = 0, unknown, ...rest }, index) => {
    const observed = {
      session: 's',
      redirectUri: REDIRECT_URI,
      ...rest,
      id: `o${index}`,
      began: at,
      ended: unknown ? NEVER : at
    }
    const place = index * 2
    const end = unknown ? NEVER : place + 1
    const apply = (state: typeof INITIAL) => effectsOf(observed as never, state)
    return { name: rest.kind, start: place, end, optional: unknown === true, apply }
  })
  return checkHistory({ ...INITIAL, session: 's' }, history).kind
}

const REDIRECT_URI = 'https://app.example/callback'
const allow = [
  { kind: 'allow', outcome: 'code', code: 'c' },
  { kind: 'remember', allow: 'o0' }
]
const pair = (number: number) => ({ access: `a${number}`, refresh: `r${number}` })
const exchange = { kind: 'exchange', code: 'c', outcome: 'tokens', tokens: pair(1) }
const refusedExchange = { kind: 'exchange', code: 'c', outcome: 'refused' }
const lostExchange = { kind: 'exchange', code: 'c', outcome: 'unknown', unknown: true as const }
const refresh = (from: number, to: number, at = 0) => ({
  kind: 'refresh',
  token: `r${from}`,
  outcome: 'tokens',
  tokens: pair(to),
  at
})
const refusedRefresh = (from: number, at = 0) => ({ kind: 'refresh', token: `r${from}`, outcome: 'refused', at })
const lostRefresh = { kind: 'refresh', token: 'r1', outcome: 'unknown', unknown: true as const }
const introspect = (number: number, active: boolean) => ({ kind: 'introspect', token: `a${number}`, active })
const end = { kind: 'end_authorization' }
const opened = [...allow, exchange]

describe('the model', () => {
  test.each<{ name: string; story: readonly Fields[] }>([
    { name: 'a code is exchanged', story: [...opened, introspect(1, true)] },
    {
      name: 'a replay ends the grant (RFC 6749 §4.1.2)',
      story: [...opened, refusedExchange, introspect(1, false), refusedRefresh(1)]
    },
    {
      name: 'a wrong redirect URI changes nothing',
      story: [...allow, { ...refusedExchange, redirectUri: 'https://x.example/' }, exchange]
    },
    { name: 'an exchange after the end of the access is refused', story: [...allow, end, refusedExchange] },
    { name: 'a lost exchange had no effect', story: [...allow, lostExchange, exchange] },
    { name: 'a lost exchange used the code', story: [...allow, lostExchange, refusedExchange] },
    {
      name: 'a lost exchange was given back',
      story: [...allow, lostExchange, { kind: 'give_back', code: 'c', exchange: 'o2', unknown: true }, exchange]
    },
    { name: 'a refresh is repeated', story: [...opened, refresh(1, 2), refresh(1, 2)] },
    {
      name: 'the response of a lost refresh is repeated',
      story: [...opened, lostRefresh, refresh(1, 2), refresh(1, 2), introspect(2, true)]
    },
    {
      name: 'a late repetition ends the grant',
      story: [...opened, refresh(1, 2), refusedRefresh(1, RETRY_WINDOW_MS * 2), introspect(2, false)]
    },
    {
      name: 'an old token after its successor was used ends the grant',
      story: [...opened, refresh(1, 2), refresh(2, 3), refusedRefresh(1), introspect(3, false)]
    },
    {
      name: 'a revoked access token ends alone',
      story: [...opened, { kind: 'revoke_access', token: 'a1' }, introspect(1, false), refresh(1, 2)]
    },
    {
      name: 'an end of the authorization forgets the consent',
      story: [...allow, end, { kind: 'authorize', outcome: 'asked' }]
    },
    {
      name: 'an end of the client keeps the consent',
      story: [...allow, { kind: 'end_client' }, { kind: 'authorize', outcome: 'code', code: 'd' }]
    },
    {
      name: 'an end of the user ends the session',
      story: [...opened, { kind: 'end_user' }, { kind: 'authorize', outcome: 'sign_in' }, introspect(1, false)]
    },
    { name: 'Redis loses a code', story: [...allow, { kind: 'lose', code: 'c' }, refusedExchange] },
    {
      name: 'Redis restores a used code, which stays used',
      story: [...opened, { kind: 'restore', code: 'c' }, refusedExchange, introspect(1, false)]
    }
  ])('allows: $name', ({ story }) => {
    expect(verdictOn(story)).toBe('linearisable')
  })

  test.each<{ name: string; story: readonly Fields[] }>([
    { name: 'a code is exchanged twice', story: [...opened, { ...exchange, tokens: pair(2) }] },
    { name: 'a replay leaves the tokens active', story: [...opened, refusedExchange, introspect(1, true)] },
    { name: 'an exchange is refused without a reason', story: [...allow, refusedExchange] },
    { name: 'an exchange succeeds after the end of the access', story: [...allow, end, exchange] },
    {
      name: 'an exchange with a wrong redirect URI succeeds',
      story: [...allow, { ...exchange, redirectUri: 'https://x.example/' }]
    },
    {
      name: 'a code that was given back is refused',
      story: [
        ...allow,
        lostExchange,
        { kind: 'give_back', code: 'c', exchange: 'o2', unknown: true },
        { kind: 'given_back', code: 'c', exchange: 'o2' },
        refusedExchange
      ].map((one) => ('unknown' in one ? { ...one, unknown: undefined } : one)) as never
    },
    { name: 'a code is not given back', story: [...allow, { kind: 'not_given_back', code: 'c' }] },
    { name: 'a refresh gets another pair', story: [...opened, refresh(1, 2), refresh(1, 3)] },
    { name: 'a refresh is refused without a reason', story: [...opened, refusedRefresh(1)] },
    {
      name: 'a repetition after the retry window succeeds',
      story: [...opened, refresh(1, 2), refresh(1, 2, RETRY_WINDOW_MS * 2)]
    },
    {
      name: 'a repetition after the use of the successor succeeds',
      story: [...opened, refresh(1, 2), refresh(2, 3), refresh(1, 2)]
    },
    {
      name: 'a reused refresh token leaves the grant active',
      story: [...opened, refresh(1, 2), refresh(2, 3), refusedRefresh(1), introspect(3, true)]
    },
    { name: 'a token is active after the end of the access', story: [...opened, end, introspect(1, true)] },
    { name: 'a token is inactive without a reason', story: [...opened, introspect(1, false)] },
    {
      name: 'a consent is remembered over an end',
      story: [...allow, end, { kind: 'authorize', outcome: 'code', code: 'd' }]
    },
    {
      name: 'a session outlives the end of the user',
      story: [...allow, { kind: 'end_user' }, { kind: 'authorize', outcome: 'code', code: 'd' }]
    },
    {
      name: 'Redis restores a used code, which is exchanged again',
      story: [...opened, { kind: 'restore', code: 'c' }, { ...exchange, tokens: pair(2) }]
    }
  ])('forbids: $name', ({ story }) => {
    expect(verdictOn(story)).toBe('impossible')
  })

  test('an Allow during an end of the user remembers nothing (ADR 0023)', () => {
    const during = [allow[0], { kind: 'end_user' }, allow[1], { kind: 'sign_in', session: 's' }] as Fields[]
    expect(verdictOn([...during, { kind: 'authorize', outcome: 'asked' }])).toBe('linearisable')
    expect(verdictOn([...during, { kind: 'authorize', outcome: 'code', code: 'd' }])).toBe('impossible')
  })
})

test.each(SEEDED_RACES)('the source has the condition of the seeded race "$name" once', (race) => {
  const file = new URL(`../services/authorization-server/src/${race.file}.ts`, import.meta.url)
  expect(withoutCondition(race, readFileSync(file, 'utf8'))).toContain(race.without)
})

test('a seeded race whose condition is missing is refused', () => {
  const race = { name: 'gone', file: 'storage/none', condition: 'where a = b', without: '' }
  expect(() => withoutCondition(race, 'select 1')).toThrow('"gone"')
})
