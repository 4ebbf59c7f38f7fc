import { expect, test } from '@jest/globals'
import { bearerChallenge } from '../src/bearer-challenge.js'

test.each([
  { name: 'realm alone', challenge: { realm: 'files' }, header: 'Bearer realm="files"' },
  {
    name: 'no credentials: no error code',
    challenge: { realm: 'files', scope: 'files.read', resourceMetadata: 'https://files.example/.well-known/x' },
    header: 'Bearer realm="files", scope="files.read", resource_metadata="https://files.example/.well-known/x"'
  },
  {
    name: 'an error',
    challenge: { realm: 'files', scope: 'a b', error: { code: 'insufficient_scope', description: 'More is needed.' } },
    header: 'Bearer realm="files", scope="a b", error="insufficient_scope", error_description="More is needed."'
  },
  {
    name: 'a sign-in that is too old',
    challenge: {
      realm: 'files',
      scope: 'a',
      maxAge: 300,
      error: { code: 'insufficient_user_authentication', description: 'More is needed.' }
    },
    header:
      'Bearer realm="files", scope="a", max_age="300", error="insufficient_user_authentication", error_description="More is needed."'
  },
  { name: 'quotes and backslashes are escaped', challenge: { realm: 'a"b\\c' }, header: 'Bearer realm="a\\"b\\\\c"' },
  { name: 'no header can be smuggled in', challenge: { realm: 'a\r\nx: y' }, header: 'Bearer realm="a??x: y"' },
  { name: 'characters outside ASCII', challenge: { realm: 'Bücher' }, header: 'Bearer realm="B?cher"' },
  {
    name: 'a description keeps to its characters',
    challenge: { realm: 'r', error: { code: 'invalid_token', description: 'say "no"\\' } },
    header: 'Bearer realm="r", error="invalid_token", error_description="say \'no\'?"'
  }
] as const)('challenge: $name (RFC 6750 §3)', ({ challenge, header }) => {
  expect(bearerChallenge(challenge)).toBe(header)
})
