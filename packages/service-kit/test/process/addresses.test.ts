import { expect, test } from '@jest/globals'
import { problemOfWebAddress, readListenAddress } from '../../src/process/addresses.js'

test.each([
  { text: ':4000', host: '0.0.0.0', port: 4000 },
  { text: 'localhost:0', host: 'localhost', port: 0 },
  { text: 'auth-1.internal:4000', host: 'auth-1.internal', port: 4000 },
  { text: '10.0.0.1:65535', host: '10.0.0.1', port: 65535 },
  { text: '[::1]:4000', host: '::1', port: 4000 }
])('$text is an address to listen on', ({ text, host, port }) => {
  expect(readListenAddress(text)).toEqual({ host, port })
})

test.each(['', '4000', 'a:65536', '[1:2]:4000', '[:::1]:4000', '[127.0.0.1]:4000', '10.0.0:4000', '10.0.0.256:4000'])(
  '%j is no address to listen on',
  (text) => {
    expect(readListenAddress(text)).toBeUndefined()
  }
)

test.each([
  { value: 'https://help.example/a?b=c', problem: undefined },
  { value: 'smtp://user:secret@mail.example', problem: undefined },
  { value: 'https://user:secret@help.example/', problem: 'must have neither user name nor password' },
  { value: 'https://help.example/a b', problem: 'must be written in its normal form, https://help.example/a%20b' },
  {
    value: 'https://help.example/\u2026',
    problem: 'must be written in its normal form, https://help.example/%E2%80%A6'
  },
  { value: 'https://h\u00e9lp.example/', problem: 'must be written in its normal form, https://xn--hlp-bma.example/' },
  { value: 'https://help.example/#a', problem: 'must have no fragment' }
])('the problem of $value is $problem', ({ value, problem }) => {
  expect(problemOfWebAddress(value, new URL(value))).toBe(problem)
})
