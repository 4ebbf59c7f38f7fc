import { expect, test } from '@jest/globals'
import type { Client } from '@valetkey/oauth-protocol'
import { unregisteredApp } from '../../../src/browser/consent/unregistered-app.js'

const CLIENT: Client = {
  clientId: 'https://app.example:8443/oauth/client.json',
  name: 'Paper Boat',
  type: 'public',
  redirectUris: ['https://boat.example/callback'],
  requiredScopes: [],
  optionalScopes: [],
  requiresPkce: true,
  issuesRefreshTokens: true,
  consent: 'ask',
  isDiscovered: true
}

test.each([
  ['a website', 'https://boat.example/callback', 'boat.example'],
  ['a program on the device', 'http://127.0.0.1:43210/cb', ''],
  ['an app on the device', 'com.example.boat:/cb', ''],
  ['a program on the device by https', 'https://localhost/cb', '']
])(
  'the part about an unregistered app names the host of the client id, the chosen name, and where %s receives the response',
  (_what, uri, redirectHost) => {
    expect(unregisteredApp(CLIENT, uri)).toEqual({
      clientIdHost: 'app.example:8443',
      name: 'Paper Boat',
      redirectHost,
      mustProveKey: false
    })
  }
)

test.each([
  ['required', true],
  ['allowed', false],
  [undefined, false]
] as const)(
  'the part says that the app must prove its key, if private_key_jwt is %s: %s',
  (privateKeyJwt, mustProveKey) => {
    expect(unregisteredApp({ ...CLIENT, privateKeyJwt }, 'https://boat.example/callback')).toMatchObject({
      mustProveKey
    })
  }
)

test('a registered client has no such part', () => {
  const registered = { ...CLIENT, isDiscovered: undefined }
  expect(unregisteredApp(registered, 'https://boat.example/callback')).toBeUndefined()
})
