import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { createSigningKey, type SigningKey } from '../support/assertions.js'

let server: TestServer
let admin: Administration
let one: SigningKey
let two: SigningKey

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
  ;[one, two] = await Promise.all([createSigningKey('ES256', 'one'), createSigningKey('Ed25519', 'a/b ?')])
})
afterAll(() => server.close())

const NEW = { name: 'Ledger', redirect_uris: ['https://ledger.example/cb'], scope: 'files.read' }

test('/admin/clients creates and changes a client with keys', async () => {
  const body = { ...NEW, auth_method: 'private_key_jwt', jwks: { keys: [{ ...one.jwk, note: 'x' }] } }
  const created = await admin.call('POST', '/clients', body)
  expect(created.statusCode).toBe(201)
  expect(created.json()).toMatchObject({
    auth_method: 'private_key_jwt',
    jwks: { keys: [{ kid: 'one', crv: 'P-256' }] }
  })
  expect(created.json()).not.toHaveProperty('client_secret')
  const path = `/clients/${created.json().client_id}`
  const changed = await admin.call('PATCH', path, { jwks_uri: 'https://ledger.example/jwks.json' })
  expect(changed.json()).toMatchObject({ jwks_uri: 'https://ledger.example/jwks.json' })
  expect(changed.json()).not.toHaveProperty('jwks')
  const wrong = await admin.call('PATCH', path, { jwks: { keys: [{ ...one.jwk, d: 'x' }] } })
  expect([wrong.statusCode, wrong.json().detail]).toEqual([
    422,
    expect.stringContaining('keys[0] must not have the members of a private')
  ])
  expect((await admin.call('POST', `${path}/secrets`, {})).statusCode).toBe(409)
})

test('/admin/clients/{client_id}/keys lists, adds and removes keys, each change audited', async () => {
  const body = { ...NEW, auth_method: 'private_key_jwt', jwks: { keys: [one.jwk] } }
  const path = `/clients/${(await admin.call('POST', '/clients', body)).json().client_id}/keys`
  const added = await admin.call('POST', path, { keys: [two.jwk] })
  expect(added.json().keys).toMatchObject([{ kid: 'one' }, { kid: 'a/b ?', jwk: { kty: 'OKP' } }])
  expect(await lastChangeIn(server)).toMatchObject({ event: 'client_key_added', details: { actor: admin.actor } })
  expect((await admin.call('GET', path)).json()).toEqual(added.json())
  const removed = await admin.call('DELETE', `${path}/${encodeURIComponent('a/b ?')}`)
  expect(removed.json().keys).toMatchObject([{ kid: 'one' }])
  expect(await lastChangeIn(server)).toMatchObject({ event: 'client_key_removed', details: { key: { kid: 'a/b ?' } } })
  expect((await admin.call('DELETE', `${path}/one`)).statusCode).toBe(409)
  expect((await admin.call('DELETE', `${path}/two`)).statusCode).toBe(404)
  expect((await admin.call('GET', '/clients/unknown/keys')).statusCode).toBe(404)
})
