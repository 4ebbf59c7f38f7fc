import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../../../support/administration.js'
import {
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer,
  until
} from '../../../../support/authorization-server.js'
import type { Browser } from '../../../../support/browser.js'
import { stopClock } from '../../../../support/clock.js'
import { runCommand } from '../../../../support/command-line.js'
import { secretIn, startDeveloperServer } from '../../../../support/developer.js'
import { authorizeUrl, exchange, PASSWORD } from '../../../../support/flow.js'
import { visibleText } from '../../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../../support/pages.js'
import { writeRest } from '../../../../support/write-rest.js'

const LIST = `${ISSUER}/account/developer`
const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

const clock = stopClock()
let server: TestServer
let client: Credentials
let url: string
let alice: Browser
let mallory: Browser
let number = 0
let names: { alice: string; mallory: string }

beforeAll(async () => {
  server = await startTestServer()
  // While no client has an owner, the server looks for the tab once a minute.
  await server.createUser('owner', PASSWORD)
  const { clientId } = await server.createClient()
  await runCommand(server.database, ['clients', 'update', clientId, '--owner', 'owner'])
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
beforeEach(async () => {
  number += 1
  names = { alice: `alice-${number}`, mallory: `mallory-${number}` }
  for (const name of Object.values(names)) await server.createUser(name, PASSWORD)
  client = await server.createClient({ name: 'Harbour Light' })
  url = `${LIST}/clients/${client.clientId}`
  alice = await signedInBrowser(server, names.alice)
  mallory = await signedInBrowser(server, names.mallory)
})

const own = (...options: string[]) =>
  runCommand(server.database, ['clients', 'update', client.clientId, '--owner', names.alice, ...options])
const secretForm = async (browser = alice, below = 'secrets') =>
  fromForm(await browser.open(url), new URL(`${url}/${below}`).pathname)
const liveSecrets = async () => {
  const { out } = await runCommand(server.database, ['clients', 'secrets', client.clientId, '--json'])
  return (JSON.parse(out).secrets as { live: boolean; secret_id: string }[]).filter(({ live }) => live)
}
const noTab = (body: string) => !body.includes(`href="${LIST}"`)

describe('an owner with DEVELOPER_APPS=off', () => {
  test('has the tab, the list and the page of the client, without forms for its settings', async () => {
    await own()
    const apps = await alice.open(`${ISSUER}/account/apps`)
    expect(apps.body).toContain(`href="${LIST}"`)
    const list = await alice.open(LIST)
    expect(list.body).toContain(`href="${url}"`)
    expect(list.body).not.toContain('/account/developer/new')
    const page = await alice.open(url)
    expect([page.statusCode, visibleText(page.body)]).toEqual([200, expect.stringContaining('only operators change')])
    expect(page.body.match(/<form[^>]*action="[^"]*developer[^"]*"/g)).toBeNull()
    for (const below of ['edit', 'delete', 'disable', 'keys']) {
      expect([below, (await alice.get(`${url}/${below}`)).statusCode]).toEqual([below, 404])
      expect((await alice.get(`${LIST}/apps/${client.clientId}/${below}`)).statusCode).toBe(404)
    }
  })

  test('sees the refused requests', async () => {
    await own()
    await server.publicServer.inject({ url: authorizeUrl(client.clientId, { redirect_uri: 'https://x.example/?a=b' }) })
    await writeRest(server)
    const page = await alice.open(`${url}/refusals`)
    expect(visibleText(page.body)).toContain('https://x.example/?a')
    expect(page.body).toContain(`href="${url}"`)
  })

  test('who is signed out signs in and comes back', async () => {
    const { headers } = await server.newBrowser().get(url)
    expect(headers.location).toBe(`${ISSUER}/login?page=developer/clients/${client.clientId}`)
    expect((await server.newBrowser().get(LIST)).headers.location).toBe(`${ISSUER}/login?page=developer`)
    expect((await server.newBrowser().get(`${url}/refusals`)).statusCode).toBe(303)
  })
})

describe('another user', () => {
  test.each(['', '/refusals'])('gets the answer for an unknown page: %j', async (below) => {
    await own('--owner-secrets')
    const answer = await mallory.get(`${url}${below}`)
    const unknown = await mallory.get(`${LIST}/clients/unknown${below}`)
    const textOf = ({ body }: { body: string }) => visibleText(body).replace(/Request id \S+/, '')
    expect([answer.statusCode, textOf(answer)]).toEqual([404, textOf(unknown)])
    expect((await mallory.get(LIST)).statusCode).toBe(404)
    expect(noTab((await mallory.open(`${ISSUER}/account/apps`)).body)).toBe(true)
  })

  test('cannot add or remove a secret with a form of their own session', async () => {
    await own('--owner-secrets')
    const other = await server.createClient()
    await runCommand(server.database, [
      'clients',
      'update',
      other.clientId,
      '--owner',
      names.mallory,
      '--owner-secrets'
    ])
    const form = fromForm(
      await mallory.open(`${LIST}/clients/${other.clientId}`),
      `/account/developer/clients/${other.clientId}/secrets`
    )
    const [secret] = await liveSecrets()
    for (const [below, fields] of [
      ['secrets', { known_secrets: secret?.secret_id ?? '' }],
      ['secrets/remove', { secret_id: secret?.secret_id ?? '' }]
    ] as const) {
      const body = form.body.replaceAll(`/clients/${other.clientId}/secrets"`, `/clients/${client.clientId}/${below}"`)
      const answer = await mallory.submitOnly(Object.assign(Object.create(form), { body }), fields)
      expect([below, answer.statusCode]).toEqual([below, 404])
    }
    expect(await liveSecrets()).toEqual([expect.objectContaining({ secret_id: secret?.secret_id })])
  })
})

describe('secrets', () => {
  test('an owner makes one that is shown once, and ends the old one; the actor is the user', async () => {
    const [old] = await liveSecrets()
    await own('--owner-secrets')
    const made = await alice.submit(await secretForm(), {})
    const clientSecret = secretIn(made.body) ?? ''
    expect(made.body).toContain(`href="${url}"`)
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'client_secret_rotated',
      client_id: client.clientId,
      details: { actor: { kind: 'user' }, secretId: expect.any(String) }
    })
    expect((await exchange(server, { ...client, clientSecret }, 'vk_ac_x')).json().error).toBe('invalid_grant')
    expect((await alice.open(url)).body).not.toContain(clientSecret)
    const removed = await alice.submit(await secretForm(alice, 'secrets/remove'), { secret_id: old?.secret_id ?? '' })
    expect([removed.url, visibleText(removed.body)]).toEqual([
      `${url}?done=secret_removed`,
      expect.stringContaining('Removed.')
    ])
    await until(async () => (await exchange(server, client, 'vk_ac_x')).json().error === 'invalid_client')
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'client_secret_deleted',
      details: { actor: { kind: 'user' } }
    })
  })

  test('one form that is sent twice at once makes one secret', async () => {
    await own('--owner-secrets')
    const form = await secretForm()
    const answers = await Promise.all([alice.submitOnly(form, {}), alice.submitOnly(form, {})])
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('an owner and an operator who make one at once: two are live, never three', async () => {
    await own('--owner-secrets')
    const form = await secretForm()
    await Promise.all([
      alice.submitOnly(form, {}),
      runCommand(server.database, ['clients', 'rotate-secret', client.clientId])
    ])
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('the last live one cannot be removed', async () => {
    await own('--owner-secrets')
    const answer = await alice.submit(await secretForm(alice, 'secrets/remove'), {})
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('was not removed')])
    expect(await liveSecrets()).toHaveLength(1)
  })

  test('a form is refused if the right or the owner was taken away since it was opened', async () => {
    await own('--owner-secrets')
    const [add, remove] = [await secretForm(), await secretForm(alice, 'secrets/remove')]
    await own('--no-owner-secrets')
    expect((await alice.submitOnly(add, {})).statusCode).toBe(404)
    expect((await alice.submitOnly(remove, {})).statusCode).toBe(404)
    expect((await alice.get(url)).body).not.toContain('/secrets"')
    await own('--owner-secrets')
    await runCommand(server.database, ['clients', 'update', client.clientId, '--owner', ''])
    expect((await alice.submitOnly(add, {})).statusCode).toBe(404)
    expect((await alice.get(url)).statusCode).toBe(404)
    expect(await liveSecrets()).toHaveLength(1)
  })

  test('a form of another site or session is refused, and an old sign-in must be repeated', async () => {
    await own('--owner-secrets')
    const form = await secretForm()
    expect((await alice.submitOnly(form, {}, FOREIGN)).statusCode).toBe(403)
    expect((await alice.submitOnly(form, { csrf_token: 'x' })).statusCode).toBe(303)
    clock.advance(301)
    const answer = await alice.submitOnly(form, {})
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/clients/${client.clientId}`)
    expect((await alice.get(url)).body).not.toContain('action="')
    expect(await liveSecrets()).toHaveLength(1)
  })

  test.each([
    ['a public client', { type: 'public' as const, requiresPkce: true }],
    ['a client with keys', { privateKeyJwt: 'required' as const, jwksUri: 'https://app.example/keys' }]
  ])('%s has none for its owner', async (_name, change) => {
    client = await server.createClient(change)
    url = `${LIST}/clients/${client.clientId}`
    await own('--owner-secrets')
    const page = await alice.get(url)
    expect([page.statusCode, page.body.includes('/secrets"')]).toEqual([200, false])
  })

  test('of a disabled owner stay, and the account cannot use the page', async () => {
    await own('--owner-secrets')
    await alice.submit(await secretForm(), {})
    const form = await secretForm(alice, 'secrets/remove')
    await runCommand(server.database, ['users', 'disable', names.alice, '--yes'])
    expect((await alice.submitOnly(form, {})).statusCode).toBe(303)
    expect(await liveSecrets()).toHaveLength(2)
  })
})

test('with DEVELOPER_APPS, the list of apps has the clients of operators, too', async () => {
  const other = await startDeveloperServer()
  await other.createUser('alice', PASSWORD)
  const { clientId } = await other.createClient({ name: 'Harbour Light' })
  const browser = await signedInBrowser(other)
  expect(visibleText((await browser.open(LIST)).body)).not.toContain('Registered by operators')
  await runCommand(other.database, ['clients', 'update', clientId, '--owner', 'alice'])
  const list = await browser.open(LIST)
  expect(list.body).toContain(`${LIST}/clients/${clientId}`)
  expect(list.body).toContain('/account/developer/new')
  await other.close()
})
