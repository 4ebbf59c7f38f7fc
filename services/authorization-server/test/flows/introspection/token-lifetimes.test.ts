import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bucketOfAccessToken } from '@valetkey/oauth-protocol'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { isActive, obtainTokens, pairOf } from '../../support/tokens.js'

const DAY = 86_400

describe('processes with different values of ACCESS_TOKEN_TTL', () => {
  let server: TestServer
  let ofHour: TestServer
  let ofDay: TestServer
  let resourceServer: Credentials
  let client: Credentials

  beforeAll(async () => {
    server = await startTestServer()
    await server.createUser('alice', PASSWORD)
    resourceServer = await server.createResourceServer()
    client = await server.createClient()
    ofHour = await startInstance(server, { config: { accessTokenTtl: 3_600 } })
    ofDay = await startInstance(server, { config: { accessTokenTtl: DAY } })
  })
  afterAll(async () => {
    await Promise.all([ofHour.close(), ofDay.close()])
    await server.close()
  })

  /** The hours from the expiry of a new token to the end of its table. */
  const hoursLeft = (token: string, lifetime: number) =>
    (bucketOfAccessToken(token) ?? Number.NaN) + 1 - (Date.now() / 1_000 + lifetime) / 3_600

  test.each([
    { name: 'issued for an hour', issuer: () => ofHour, other: () => ofDay, lifetime: 3_600, width: 1 },
    { name: 'issued for a day', issuer: () => ofDay, other: () => ofHour, lifetime: DAY, width: 6 }
  ])('tokens $name are active, refreshed and revoked by both', async ({ issuer, other, lifetime, width }) => {
    const issued = await obtainTokens(issuer(), client)
    expect(hoursLeft(issued.access_token, lifetime)).toBeGreaterThan(0)
    expect(hoursLeft(issued.access_token, lifetime)).toBeLessThan(width + 0.1)
    const refreshed = pairOf(await refresh(other(), client, issued.refresh_token))
    for (const token of [issued.access_token, refreshed.access_token]) {
      for (const process of [ofHour, ofDay]) expect(await isActive(process, resourceServer, token)).toBe(true)
      await post(other(), '/oauth/revoke', { token, ...bodyCredentials(client) })
      for (const process of [ofHour, ofDay]) expect(await isActive(process, resourceServer, token)).toBe(false)
    }
  })

  test('a client with a shorter lifetime uses the tables of the others', async () => {
    const lifetimes = { accessToken: 600, refreshTokenIdle: undefined, refreshTokenMax: undefined }
    const issued = await obtainTokens(ofDay, await server.createClient({ lifetimes }))
    expect(((bucketOfAccessToken(issued.access_token) ?? 0) + 1) % 6).toBe(0)
    expect(await isActive(ofHour, resourceServer, issued.access_token)).toBe(true)
  })
})
