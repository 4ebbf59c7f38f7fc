import { beforeAll, describe, expect, test } from '@jest/globals'
import * as oauth from 'oauth4webapi'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import type { ClientLibrary, Registration, Setup } from '../support/clients/client-library.js'
import { withBadgateway } from '../support/clients/with-badgateway.js'
import { withOauth4webapi } from '../support/clients/with-oauth4webapi.js'
import { withOpenidClient } from '../support/clients/with-openid-client.js'
import { withSimpleOauth2 } from '../support/clients/with-simple-oauth2.js'
import { knownFiles } from '../support/known-files.js'
import { expectedFiles, listFiles } from '../support/resource.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { StackWorld } from './use-stack.js'

const REDIRECT_URI = 'https://printer.example/callback'
const bob = { username: 'bob', password: 'drei Äpfel & ein "Kuchen"' }
let stack: Stack
let at: Addresses
let bobsId: string

async function register(scope = 'files.read', ...options: string[]): Promise<Registration> {
  const basis = ['clients', 'create', '--name', 'Printer', '--redirect-uri', REDIRECT_URI, '--scope', scope]
  const { client_id, client_secret } = await stack.valetkey([...basis, ...options])
  return {
    issuer: at.issuer,
    clientId: client_id ?? '',
    clientSecret: client_secret ?? '',
    redirectUri: REDIRECT_URI,
    scope
  }
}

const discovered: Setup = { discovery: true, pkce: true, authentication: 'basic' }
const pushing: Setup = { ...discovered, pushes: true }
const byHand: Setup = { discovery: false, pkce: false, authentication: 'body' }

export function clients(world: StackWorld): void {
  beforeAll(async () => {
    ;({ stack, at } = world)
    const created = await stack.valetkey(['users', 'create', bob.username, '--password-stdin'], `${bob.password}\n`)
    bobsId = created.user_id ?? ''
    await stack.valetkeyFiles(['import', '--owner', bobsId, world.files])
  })

  describe('apps with third-party client libraries', () => {
    const apps: [string, ClientLibrary, Setup, ...string[]][] = [
      ['oauth4webapi, discovery, PKCE, Basic', withOauth4webapi, discovered],
      ['oauth4webapi, by hand, secret in the body', withOauth4webapi, byHand],
      ['oauth4webapi, public client', withOauth4webapi, { ...discovered, authentication: 'none' }, '--public'],
      ['oauth4webapi, pushed requests', withOauth4webapi, pushing, '--require-par'],
      [
        'oauth4webapi, pushed requests of a public client',
        withOauth4webapi,
        { ...pushing, authentication: 'none' },
        '--public'
      ],
      ['openid-client, pushed requests', withOpenidClient, pushing, '--require-par'],
      ['openid-client, discovery, PKCE, Basic', withOpenidClient, discovered],
      ['openid-client, by hand, secret in the body', withOpenidClient, byHand],
      ['simple-oauth2, by hand, Basic', withSimpleOauth2, { ...byHand, authentication: 'basic' }],
      ['simple-oauth2, by hand, secret in the body', withSimpleOauth2, byHand],
      ['@badgateway/oauth2-client, discovery, PKCE, Basic', withBadgateway, discovered],
      ['@badgateway/oauth2-client, by hand, secret in the body', withBadgateway, byHand]
    ]

    test.each(apps)(
      '%s: files, refresh, revocation, and a code used twice',
      async (_name, library, setup, ...options) => {
        const registration = await register('files.read', ...options)
        const user = simulateUser(at.issuer, bob)

        const app = await library.createApp(registration, setup)
        const first = await app.finish(await user.decide(await app.begin(), 'allow'))
        expect(first.scope).toBe('files.read')
        expect(await listFiles(at.resourceUrl, first.accessToken)).toEqual({
          status: 200,
          challenge: '',
          files: expectedFiles(knownFiles)
        })

        const renewed = await app.refresh(first.refreshToken)
        expect(renewed.refreshToken).toMatch(/^vk_rt_/)
        expect(renewed.refreshToken).not.toBe(first.refreshToken)
        expect((await listFiles(at.resourceUrl, renewed.accessToken)).status).toBe(200)

        await app.revokeAccessToken(renewed)
        await expectRefused(renewed.accessToken)
        expect((await listFiles(at.resourceUrl, first.accessToken)).status).toBe(200)

        const another = await library.createApp(registration, setup)
        const callback = await user.decide(await another.begin(), 'allow')
        const second = await another.finish(callback)
        expect((await listFiles(at.resourceUrl, second.accessToken)).status).toBe(200)
        const refusal = await another.finish(callback).catch(library.refusalOf)
        expect(refusal).toEqual({ error: 'invalid_grant', description: 'authorization code was already used' })
        await expectRefused(second.accessToken)
      }
    )

    test.each(apps.filter(([, , { authentication }]) => authentication !== 'none'))(
      '%s: a secret kept from another server works (RFC 6749 §2.3.1)',
      async (name, library, setup) => {
        const clientSecret = '+/Kept~from%2Banother:server+100%/=='
        const clientId = `kept-${name.replace(/[^a-z0-9]+/gi, '-')}`
        const basis = ['clients', 'create', '--name', 'Kept', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
        await stack.valetkey([...basis, '--client-id', clientId, '--secret-stdin'], clientSecret)
        const kept = { issuer: at.issuer, clientId, clientSecret, redirectUri: REDIRECT_URI, scope: 'files.read' }
        const app = await library.createApp(kept, setup)
        const tokens = await app.finish(await simulateUser(at.issuer, bob).decide(await app.begin(), 'allow'))
        expect((await app.refresh(tokens.refreshToken)).scope).toBe('files.read')
      }
    )

    test.each([
      ['oauth4webapi', withOauth4webapi],
      ['openid-client', withOpenidClient],
      ['@badgateway/oauth2-client', withBadgateway]
    ])('%s reports a Deny as access_denied', async (_name, library) => {
      const app = await library.createApp(await register(), discovered)
      const callback = await simulateUser(at.issuer, bob).decide(await app.begin(), 'deny')
      expect(callback.searchParams.has('code')).toBe(false)
      expect(await app.finish(callback).catch(library.refusalOf)).toMatchObject({ error: 'access_denied' })
    })

    test.each([
      ['oauth4webapi', withOauth4webapi],
      ['openid-client', withOpenidClient]
    ])('%s accepts a response only with the expected iss and state (RFC 9207)', async (_name, library) => {
      const app = await library.createApp(await register(), discovered)
      const callback = await simulateUser(at.issuer, bob).decide(await app.begin(), 'allow')
      expect(callback.searchParams.get('iss')).toBe(at.issuer)
      for (const forged of [
        without(callback, 'iss'),
        changed(callback, 'iss', 'https://evil.example'),
        changed(callback, 'state', 'another')
      ]) {
        await expect(app.finish(forged)).rejects.toThrow(/response parameter|invalid response/)
      }
      // None of these attempts used the code.
      expect((await app.finish(callback)).scope).toBe('files.read')
    })
  })

  test('a client finds the authorization server from the response to a request without a token (RFC 9728)', async () => {
    const { headers } = await fetch(`${at.resourceUrl}/v1/files`)
    const address = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? ''
    const resource = await oauth.processResourceDiscoveryResponse(new URL(at.resourceUrl), await fetch(address))
    expect(resource).toMatchObject({ resource: at.resourceUrl, authorization_servers: [at.issuer] })
  })

  test('a scope, an API and its credential created with the command line: that API accepts the token, the files API refuses it', async () => {
    const audience = 'https://albums.example'
    const api = await stack.valetkey(['resource-servers', 'create', '--name', 'albums', '--audience', audience])
    await stack.valetkey(['scopes', 'create', 'albums.read', '--title', 'See your albums', '--resource', 'albums'])
    const registration = await register('albums.read')
    const app = await withOauth4webapi.createApp(registration, discovered)
    const address = changed(await app.begin(), 'resource', audience)
    const { accessToken } = await app.finish(await simulateUser(at.issuer, bob).decide(address, 'allow'))

    const server = { issuer: at.issuer, introspection_endpoint: `${at.internalUrl}/introspect` }
    const caller = { client_id: api.client_id ?? '' }
    const credential = oauth.ClientSecretBasic(api.client_secret ?? '')
    const http = { [oauth.allowInsecureRequests]: true }
    const response = await oauth.introspectionRequest(server, caller, credential, accessToken, http)
    expect(await oauth.processIntrospectionResponse(server, caller, response)).toMatchObject({
      active: true,
      scope: 'albums.read',
      client_id: registration.clientId,
      sub: bobsId,
      iss: at.issuer,
      aud: audience
    })
    await expectRefused(accessToken)
  })

  test('50 concurrent exchanges of one code: one 200, 49 invalid_grant, and no token stays active', async () => {
    const registration = await register()
    const app = await withSimpleOauth2.createApp(registration, byHand)
    const callback = await simulateUser(at.issuer, bob).decide(await app.begin(), 'allow')
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT_URI,
      client_id: registration.clientId,
      client_secret: registration.clientSecret
    })
    const exchange = async () => {
      const response = await fetch(`${at.issuer}/token`, { method: 'POST', body })
      return { status: response.status, body: (await response.json()) as Record<string, string> }
    }
    const answers = await Promise.all(Array.from({ length: 50 }, exchange))
    const winners = answers.filter(({ status }) => status === 200)
    const refusals = answers.filter(({ status, body: { error } }) => status === 400 && error === 'invalid_grant')
    expect([winners.length, refusals.length]).toEqual([1, 49])
    // The 49 later exchanges were valid except that the code was used, so its tokens are revoked (RFC 6749 §4.1.2).
    await expectRefused(winners[0]?.body.access_token ?? '')
  })
}

/** The same 401 (RFC 6750 §3.1) for every invalid token. */
async function expectRefused(accessToken: string): Promise<void> {
  const { status, challenge } = await listFiles(at.resourceUrl, accessToken)
  expect(status).toBe(401)
  expect(challenge).toMatch(/^Bearer .*error="invalid_token"/)
  expect(challenge).toContain(`resource_metadata="${at.resourceUrl}/.well-known/oauth-protected-resource"`)
}

function changed(address: URL, name: string, value: string): URL {
  const copy = new URL(address)
  copy.searchParams.set(name, value)
  return copy
}

function without(address: URL, name: string): URL {
  const copy = new URL(address)
  copy.searchParams.delete(name)
  return copy
}
