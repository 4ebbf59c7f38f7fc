import { afterAll, beforeAll, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { startAdministration } from '../../../support/administration.js'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { newApp, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startDeveloperServer()
  await Promise.all(['alice', 'bob', 'carol'].map((name) => server.createUser(name, PASSWORD)))
})
afterAll(() => server.close())

async function logoFile(): Promise<Blob> {
  const create = { width: 9, height: 9, channels: 3, background: '#128' } as const
  return new Blob([new Uint8Array(await sharp({ create }).png().toBuffer())])
}

const open = async (browser: Browser, url: string) => {
  const { statusCode, headers } = await browser.open(url)
  return [statusCode, headers['content-type'], headers['cache-control']]
}
const PRIVATE = [200, 'image/png', 'private, no-store']

test('the logo of a draft is for its owners and test users, and public when an operator approves the app', async () => {
  const [alice, bob, carol] = [
    await signedInBrowser(server),
    await signedInBrowser(server, 'bob'),
    await signedInBrowser(server, 'carol')
  ]
  const { url, clientId } = await newApp(server, alice, { logo: await logoFile() })
  await sendForm(alice, url, 'testers', { username: 'bob' })
  const shown = /<img class="own-logo" src="([^"]*)"/.exec((await alice.open(url)).body)?.[1] ?? ''
  const hash = /([0-9a-f]{64})\.png$/.exec(shown)?.[1] ?? ''
  const [address, own] = [`${ISSUER}/logos/${hash}.png`, `${ISSUER}/account/logos/${hash}.png`]
  expect([await open(alice, shown), await open(alice, address), await open(bob, address)]).toEqual([
    PRIVATE,
    PRIVATE,
    PRIVATE
  ])
  for (const browser of [carol, server.newBrowser()]) {
    expect([(await browser.open(address)).statusCode, (await browser.open(own)).statusCode]).toEqual([404, 404])
  }
  const unpublished = await server.publicServer.inject(`/logos/${hash}.png`)
  expect([unpublished.statusCode, unpublished.headers['cache-control']]).toEqual([303, 'no-store'])
  const admin = await startAdministration(server)
  const image = await admin.call('GET', `/logos/${hash}`)
  expect([image.statusCode, image.headers['content-type'], image.rawPayload.length > 100]).toEqual([
    200,
    'image/png',
    true
  ])
  expect((await admin.call('GET', `/logos/${'0'.repeat(64)}`)).statusCode).toBe(404)

  await server.database.query({
    name: '',
    text: 'update clients set published = true where client_id = $1',
    values: [clientId]
  })
  expect(await open(server.newBrowser(), address)).toEqual([200, 'image/png', 'public, max-age=31536000, immutable'])
})
