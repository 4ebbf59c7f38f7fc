import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  closeStream,
  isSilent,
  isVerified,
  type ListenSession,
  noncePayload,
  openSession,
  openStream,
  pulsePayload,
  receive
} from '../../src/feed/listen-session.js'
import { readNotification } from '../../src/feed/notification.js'

const EPOCH = 'epoch-of-this-one'
const STREAM = 'a-stream-of-ours-1'
const OTHER = 'a-stream-of-ours-2'
const FILES = 'https://files.example'
const REPORTS = 'https://reports.example'
const NONCE = 'a-nonce-of-a-guard'

let session: ListenSession

beforeEach(() => {
  session = openSession(EPOCH)
})

/** A pulse that was sent and came back at these times. */
const hear = (payload: string, now: number) => receive(session, readNotification(payload), now)
const pulse = (sent: number, back: number) => hear(pulsePayload(session, sent), back)
const announce = (data: object, now = 0) => hear(JSON.stringify(data), now)
const ended = (data: object, audience: string) => announce({ ...data, audience })

describe('verification of a LISTEN session', () => {
  test('no pulse returned: unverified', () => {
    pulsePayload(session, 5)
    expect(isVerified(session, 5)).toBe(false)
  })

  test.each([
    { name: 'immediately', now: 5_010, verified: true },
    { name: 'until a second after it was sent', now: 5_999, verified: true },
    { name: 'not at that second', now: 6_000, verified: false },
    { name: 'not later', now: 9_000, verified: false }
  ])('its own pulse, measured from its sending: $name', ({ now, verified }) => {
    expect(pulse(5_000, 5_005)).toEqual([])
    expect(isVerified(session, now)).toBe(verified)
  })

  test('a pulse that returns too late does not verify', () => {
    pulse(5_000, 6_500)
    expect(isVerified(session, 6_500)).toBe(false)
  })

  test('the newest pulse counts, in any order of return', () => {
    pulse(5_250, 5_300)
    pulse(5_000, 5_301)
    expect(isVerified(session, 6_200)).toBe(true)
  })

  test.each([
    { name: 'the pulse of another process', payload: pulsePayload(openSession('another'), 5_000) },
    { name: 'one from the future', payload: JSON.stringify({ pulse: EPOCH, sent: 9_999 }) },
    { name: 'one without a time', payload: JSON.stringify({ pulse: EPOCH }) },
    { name: 'a guard’s nonce', payload: noncePayload(STREAM, NONCE) },
    { name: 'a revocation', payload: '{"jti":"a"}' }
  ])('$name does not verify', ({ payload }) => {
    hear(payload, 5_000)
    expect(isVerified(session, 5_000)).toBe(false)
  })
})

describe('loss of a session', () => {
  test.each([
    { name: 'never verified, in its first two seconds', last: undefined, now: 2_000, silent: false },
    { name: 'never verified, afterwards', last: undefined, now: 2_001, silent: true },
    { name: 'a second without proof', last: 5_000, now: 7_000, silent: false },
    { name: 'longer than a second without proof', last: 5_000, now: 7_001, silent: true }
  ])('$name', ({ last, now, silent }) => {
    if (last !== undefined) pulse(last, last)
    expect(isSilent(session, 0, now)).toBe(silent)
  })
})

describe('revocations', () => {
  beforeEach(() => {
    openStream(session, STREAM, FILES)
  })

  test.each([{ jti: 'a' }, { grant_id: 'b' }, { sub: 'c' }, { client_id: 'd' }])(
    '%j without an audience goes to every stream',
    (data) => {
      openStream(session, OTHER, REPORTS)
      const frame = { event: 'revoked', id: `${EPOCH}-1`, data }
      expect(announce(data)).toEqual([
        { stream: STREAM, ...frame },
        { stream: OTHER, ...frame }
      ])
    }
  )

  test('with an audience are sent to the streams of that audience, and only those count them', () => {
    openStream(session, OTHER, REPORTS)
    const data = { jti: 'a' }
    expect(ended(data, REPORTS)).toEqual([{ stream: OTHER, event: 'revoked', id: `${EPOCH}-1`, data }])
    expect(ended({ grant_id: 'b' }, FILES).map(({ stream, id }) => [stream, id])).toEqual([[STREAM, `${EPOCH}-1`]])
    expect(ended({ grant_id: 'c' }, REPORTS).map(({ stream, id }) => [stream, id])).toEqual([[OTHER, `${EPOCH}-2`]])
    expect(ended({ grant_id: 'd' }, 'https://unknown.example')).toEqual([])
  })

  test('of a user or a client are sent to the given audiences', () => {
    openStream(session, OTHER, REPORTS)
    const frames = receive(session, readNotification('{"sub":"c"}'), 0, (audience) => audience === REPORTS)
    expect(frames.map(({ stream }) => stream)).toEqual([OTHER])
  })

  test('are numbered in the order of arrival, over all kinds', () => {
    const frames = [{ jti: 'a' }, { grant_id: 'b' }, { sub: 'c' }, { client_id: 'd' }].flatMap((data) => announce(data))
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3, 4].map((count) => `${EPOCH}-${count}`))
  })

  test('are sent while the session is unverified as well', () => {
    expect(isVerified(session, 9_000)).toBe(false)
    expect(announce({ sub: 'c' }, 9_000)).toHaveLength(1)
  })

  test.each([
    '',
    'no JSON',
    '{',
    'null',
    '[]',
    '"jti"',
    '1',
    '{}',
    '{"jti":1}',
    '{"jti":null}',
    '{"jti":""}',
    '{"jti":{"a":"b"}}',
    '{"jti":"a","sub":"b"}',
    '{"jti":"a","more":1}',
    '{"stream":"a"}',
    '{"nonce":"a"}',
    '{"pulse":""}',
    '{"audience":"a"}',
    '{"jti":"a","sub":"b","audience":"a"}',
    '{"reset":"grants"}'
  ])('%s is ignored and not counted', (payload) => {
    expect(hear(payload, 0)).toEqual([])
    expect(announce({ jti: 'next' })[0]?.id).toBe(`${EPOCH}-1`)
  })
})

test('a member of a later release is sent: guards that do not know it clear their cache', () => {
  openStream(session, STREAM, FILES)
  expect(hear('{"tenant":"a"}', 0)).toEqual([
    { stream: STREAM, event: 'revoked', id: `${EPOCH}-1`, data: { tenant: 'a' } }
  ])
})

describe('a stream', () => {
  test('counts from its own start', () => {
    announce({ jti: 'a' })
    announce({ jti: 'b' })
    expect(openStream(session, STREAM, FILES)).toEqual({
      stream: STREAM,
      event: 'opened',
      id: `${EPOCH}-0`,
      data: { stream: STREAM }
    })
  })
})

describe('a guard’s nonce', () => {
  beforeEach(() => {
    openStream(session, STREAM, FILES)
    pulse(5_000, 5_000)
  })

  const relay = (now: number, stream = STREAM) => hear(noncePayload(stream, NONCE), now)

  test('is sent as a proof on its stream, with the id of the newest revocation and without a new number', () => {
    announce({ jti: 'a' })
    const proof = { stream: STREAM, event: 'proof', id: `${EPOCH}-1`, data: { nonce: NONCE } }
    expect(relay(5_001)).toEqual([proof])
    expect(relay(5_002)).toEqual([proof])
    expect(announce({ jti: 'b' })[0]?.id).toBe(`${EPOCH}-2`)
  })

  test('for a stream of another instance is ignored', () => {
    expect(relay(5_001, 'a-stream-of-others')).toEqual([])
  })

  test('for a stream that has ended is ignored', () => {
    closeStream(session, STREAM)
    expect(relay(5_001)).toEqual([])
  })

  test('is not returned while the session is unverified', () => {
    expect(relay(6_000)).toEqual([])
  })
})
