import { describe, expect, test } from '@jest/globals'
import { readTraceContext, traceHeaders } from '../src/trace-context.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`
const CONTEXT = { traceId: TRACE, spanId: SPAN, flags: 1, state: undefined }

describe('traceparent (W3C Trace Context §3.2, §4.3)', () => {
  test.each([
    { name: 'version 00', traceparent: VALID, flags: 1 },
    { name: 'not sampled', traceparent: `00-${TRACE}-${SPAN}-00`, flags: 0 },
    { name: 'sampled and random', traceparent: `00-${TRACE}-${SPAN}-03`, flags: 3 },
    { name: 'unknown flags', traceparent: `00-${TRACE}-${SPAN}-fd`, flags: 1 },
    { name: 'a later version', traceparent: `01-${TRACE}-${SPAN}-01`, flags: 1 },
    { name: 'a later version with more fields', traceparent: `cc-${TRACE}-${SPAN}-01-what.comes-next`, flags: 1 },
    { name: 'a later version with an empty field', traceparent: `cc-${TRACE}-${SPAN}-01-`, flags: 1 }
  ])('$name is read', ({ traceparent, flags }) => {
    expect(readTraceContext({ traceparent })).toEqual({ ...CONTEXT, flags })
  })

  test.each([
    { name: 'no header', traceparent: undefined },
    { name: 'an empty header', traceparent: '' },
    { name: 'upper case', traceparent: VALID.toUpperCase() },
    { name: 'version 00 with a further field', traceparent: `${VALID}-00` },
    { name: 'version 00 with a dash at its end', traceparent: `${VALID}-` },
    { name: 'a later version with text and no dash', traceparent: `01-${TRACE}-${SPAN}-01.x` },
    { name: 'version ff', traceparent: `ff-${TRACE}-${SPAN}-01` },
    { name: 'a version that is no number', traceparent: `0g-${TRACE}-${SPAN}-01` },
    { name: 'trace id 0', traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` },
    { name: 'span id 0', traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
    { name: 'a short trace id', traceparent: `00-${TRACE.slice(1)}-${SPAN}-01` },
    { name: 'a long span id', traceparent: `00-${TRACE}-${SPAN}0-01` },
    { name: 'flags of one digit', traceparent: `00-${TRACE}-${SPAN}-1` },
    { name: 'two headers', traceparent: `${VALID}, ${VALID}` },
    { name: 'two headers of a later version', traceparent: `01-${TRACE}-${SPAN}-01-x, ${VALID}` },
    { name: 'a line break at its end', traceparent: `${VALID}\n` }
  ])('$name is no context, whatever tracestate has', ({ traceparent }) => {
    expect(readTraceContext({ traceparent, tracestate: 'a=1' })).toBeUndefined()
  })
})

describe('tracestate (W3C Trace Context §3.3)', () => {
  const members = (count: number) => Array.from({ length: count }, (_, number) => `k${number}=v`).join(',')

  test.each([
    { name: 'one member', tracestate: 'congo=t61rcWkgMzE' },
    { name: 'white space and empty members', tracestate: 'a=1 ,\t, b=2' },
    { name: 'a vendor that no list knows', tracestate: 'tenant@system=opaque value' },
    { name: '32 members', tracestate: members(32) },
    { name: '512 characters', tracestate: `a=${'x'.repeat(510)}` }
  ])('$name: passed on unchanged', ({ tracestate }) => {
    const context = readTraceContext({ traceparent: VALID, tracestate })
    expect(context).toEqual({ ...CONTEXT, state: tracestate })
    expect(context && traceHeaders(context).tracestate).toBe(tracestate)
  })

  test.each([
    { name: 'no header', tracestate: undefined },
    { name: 'an empty header', tracestate: '' },
    { name: '33 members', tracestate: members(33) },
    { name: '513 characters', tracestate: `a=${'x'.repeat(511)}` },
    { name: 'a letter outside ASCII', tracestate: 'a=ü' },
    { name: 'a line break', tracestate: 'a=1\r\nx-injected: 1' }
  ])('$name: only traceparent counts', ({ tracestate }) => {
    const context = readTraceContext({ traceparent: VALID, tracestate })
    expect(context).toEqual(CONTEXT)
    expect(context && traceHeaders(context)).toEqual({ traceparent: expect.any(String) })
  })
})

describe('the headers of a call', () => {
  test.each([
    { given: VALID, flags: '01' },
    { given: `00-${TRACE}-${SPAN}-ff`, flags: '03' },
    { given: `cc-${TRACE}-${SPAN}-02-next`, flags: '02' }
  ])('of $given: version 00, the same trace, flags $flags', ({ given, flags }) => {
    const context = readTraceContext({ traceparent: given })
    const { traceparent } = traceHeaders(context ?? { ...CONTEXT, traceId: 'none' })
    expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`))
    expect(traceparent).not.toContain(SPAN)
    expect(readTraceContext({ traceparent })).toBeDefined()
  })

  test('each call has its own span', () => {
    const spans = Array.from({ length: 50 }, () => traceHeaders(CONTEXT).traceparent)
    expect(new Set(spans).size).toBe(50)
  })
})
