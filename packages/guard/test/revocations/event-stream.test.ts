import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { eventStreamReader } from '../../src/revocations/event-stream.js'

const read = (...pieces: string[]) => {
  const reader = eventStreamReader()
  return pieces.flatMap((piece) => reader(piece) ?? [])
}

const message = (data: string, id = '') => ({ event: 'message', id, data })

test.each([
  {
    name: 'an event with all its fields',
    text: 'event: revoked\nid: e-1\ndata: {"a":1}\n\n',
    events: [{ event: 'revoked', id: 'e-1', data: '{"a":1}' }]
  },
  {
    name: 'no space after the colon',
    text: 'event:x\nid:1\ndata:d\n\n',
    events: [{ event: 'x', id: '1', data: 'd' }]
  },
  { name: 'two spaces after the colon: one is removed', text: 'data:  d\n\n', events: [message(' d')] },
  { name: 'several lines of data', text: 'data: a\ndata: b\n\n', events: [message('a\nb')] },
  {
    name: 'an id applies to the next event as well',
    text: 'id: 1\ndata: a\n\ndata: b\n\n',
    events: [message('a', '1'), message('b', '1')]
  },
  { name: 'an id with NUL is ignored', text: 'id: 1\0\ndata: a\n\n', events: [message('a')] },
  { name: 'comments', text: ': alive\n\n:\n\n', events: [] },
  { name: 'fields without data make no event', text: 'event: x\nid: 1\n\n', events: [] },
  { name: 'unknown fields, and a line without a colon', text: 'retry: 5\nfoo: bar\ndata\n\n', events: [message('')] },
  { name: 'an event that has not ended', text: 'data: a\n', events: [] },
  { name: 'a byte order mark', text: '\ufeffdata: a\n\n', events: [message('a')] }
])('$name (HTML standard, 9.2.6)', ({ text, events }) => {
  expect(read(text)).toEqual(events)
})

test('lines end in CR, LF or CRLF, and pieces may end anywhere', () => {
  const line = fc.constantFrom('data: a', 'event: x', 'id: 7', ': c', '', 'data: \u2028é')
  const ending = fc.constantFrom('\n', '\r', '\r\n')
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending)), fc.array(fc.nat(80)), (lines, cuts) => {
      // A CR directly before an LF is one line ending, as the standard says.
      const text = lines.map(([words, end]) => words + end).join('')
      const whole = read(`${text}\n`)
      const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
      const pieces = [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length))
      expect(read(...pieces, '\n')).toEqual(whole)
    })
  )
})

test.each([
  { name: 'a line', piece: 'x'.repeat(10_000) },
  { name: 'an event', piece: `data: ${'x'.repeat(10_000)}\n` }
])('$name without an end: undefined', ({ piece }) => {
  const reader = eventStreamReader()
  const answers = Array.from({ length: 8 }, () => reader(piece))
  expect(answers.includes(undefined)).toBe(true)
})
