import { expect, test } from '@jest/globals'
import { authorizationHeaders } from '../src/authorization-header.js'

test.each([
  { name: 'no header', rawHeaders: [], expected: [] },
  { name: 'other headers only', rawHeaders: ['Host', 'authorization', 'Accept', '*/*'], expected: [] },
  { name: 'one', rawHeaders: ['Host', 'a.example', 'Authorization', 'Basic YTpi'], expected: ['Basic YTpi'] },
  { name: 'a name in upper case', rawHeaders: ['AUTHORIZATION', 'Basic YTpi'], expected: ['Basic YTpi'] },
  { name: 'an empty value', rawHeaders: ['authorization', ''], expected: [''] },
  {
    name: 'two',
    rawHeaders: ['authorization', 'Bearer a', 'Host', 'a.example', 'Authorization', 'Bearer b'],
    expected: ['Bearer a', 'Bearer b']
  }
])('authorizationHeaders: $name gives $expected', ({ rawHeaders, expected }) => {
  expect(authorizationHeaders(rawHeaders)).toEqual(expected)
})
