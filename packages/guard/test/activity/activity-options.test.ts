import { expect, test } from '@jest/globals'
import { type ActivityOptions, readActivityOptions } from '../../src/activity/activity-options.js'

const introspection = { url: 'http://auth/introspect', clientId: 'api', clientSecret: 'secret' }
const introspector = { introspect: async () => ({ active: false }) as const, close: async () => {} }
const url = 'http://auth/uses'

test('the credential is that of introspection, or the given one', () => {
  expect(readActivityOptions({ url }, introspection)).toEqual({ url, clientId: 'api', clientSecret: 'secret' })
  const own = { url, clientId: 'a', clientSecret: 's' }
  expect(readActivityOptions(own, introspection)).toEqual(own)
  expect(readActivityOptions(own, introspector)).toEqual(own)
})

test.each([
  { name: 'no url', options: {}, error: 'activity.url must be an http or https URL' },
  { name: 'another scheme', options: { url: 'file:///uses' }, error: 'activity.url must be an http or https URL' },
  {
    name: 'an introspector and no id',
    options: { url, clientSecret: 's' },
    error: 'activity.clientId must be a string'
  },
  {
    name: 'an introspector and no secret',
    options: { url, clientId: 'a' },
    error: 'activity.clientSecret must be a string'
  },
  {
    name: 'an empty secret',
    options: { url, clientId: 'a', clientSecret: '' },
    error: 'activity.clientSecret must be a string'
  }
])('$name is a TypeError', ({ options, error }) => {
  expect(() => readActivityOptions(options as ActivityOptions, introspector)).toThrow(new TypeError(error))
})
