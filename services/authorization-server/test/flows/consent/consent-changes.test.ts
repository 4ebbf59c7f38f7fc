import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { type Browser, firstForm, type Page } from '../../support/browser.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField, otherAddressesOn, visibleText } from '../../support/page-content.js'
import { openConsent, postForm, signedInBrowser, signOut } from '../../support/pages.js'
import { deleteRow, disable, enable } from '../../support/tokens.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const ALLOW = { decision: 'allow' }

let server: TestServer
let client: Credentials
let aliceId: string

beforeAll(async () => {
  server = await startTestServer()
  aliceId = await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
})
beforeEach(async () => {
  client = await server.createClient()
})
afterAll(() => server.close())

const pathOf = (page: Page) => new URL(page.url).pathname
const isConsent = (page: Page) => page.statusCode === 200 && pathOf(page) === '/consent'

function codesIn(answers: readonly LightMyRequestResponse[]): string[] {
  return answers.flatMap(({ headers }) => String(headers.location).match(/vk_ac_\w+/g) ?? [])
}

async function countGrants(): Promise<number> {
  const text = 'select 1 from grants where client_id = $1'
  return (await server.database.query({ name: 'count_grants', text, values: [client.clientId] })).length
}

/** The second form of the consent page. */
function otherAccountForm(page: Page): Page {
  const [, form = ''] = page.body.split('<form id="switch"')
  return { ...page, body: `<form${form}` } as Page
}

async function useAnotherAccount(browser: Browser, page: Page): Promise<Page> {
  return browser.submit(otherAccountForm(page), {})
}

describe('a request is decided once', () => {
  test('20 concurrent forms: one grant, and the same code for all', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const answers = await Promise.all(Array.from({ length: 20 }, () => postForm(server, browser, page, ALLOW, OWN)))
    expect(new Set(codesIn(answers)).size).toBe(1)
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(303))
    const [code = ''] = codesIn(answers)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(1)
  })

  test.each([
    ['Allow after Deny', 'deny', 'allow'],
    ['Deny after Allow', 'allow', 'deny']
  ])('%s: the user is asked again, and nothing changes', async (_name, first, second) => {
    const { browser, page } = await openConsent(server, client.clientId)
    const decided = responseParameters(await browser.submitOnly(page, { decision: first }))
    expect(isConsent(await browser.submit(page, { decision: second }))).toBe(true)
    if (decided.code) expect((await exchange(server, client, decided.code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(first === 'allow' ? 1 : 0)
  })

  test('reload of the page after Allow: the user is asked again', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const { code = '' } = responseParameters(await browser.submitOnly(page, ALLOW))
    expect(isConsent(await browser.open(page.url))).toBe(true)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(1)
  })
})

describe('a form is valid only in the session that it was shown in', () => {
  test('after signing out: the sign-in page, and no code', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await signOut(browser)
    expect(pathOf(await browser.submit(page, ALLOW))).toBe('/login')
    expect(await countGrants()).toBe(0)
  })

  test('after another user signed in: that user is asked', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const login = await useAnotherAccount(browser, page)
    await browser.submit(login, { username: 'bob', password: PASSWORD })
    const asked = await browser.submit(page, ALLOW)
    expect(visibleText(asked.body)).toContain('Signed in as bob Use another account')
    expect(await countGrants()).toBe(0)
  })

  test('after the same user signed out and in again: the page is shown again', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const login = await useAnotherAccount(browser, page)
    await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(isConsent(await browser.submit(page, ALLOW))).toBe(true)
    expect(await countGrants()).toBe(0)
  })

  test.each([
    { sent: undefined, passed: 'login' },
    { sent: 'consent', passed: 'consent login' },
    { sent: 'login', passed: 'login' }
  ])('Use another account asks providers for a new sign-in, also with prompt $sent', async ({ sent, passed }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    const own = sent === undefined ? page : await browser.open(authorizeUrl(client.clientId, { prompt: sent }))
    const asked = own.body.includes('id="password"')
      ? await browser.submit(own, { username: 'alice', password: PASSWORD })
      : own
    const action = new URL(firstForm(otherAccountForm(asked).body).action)
    const { prompt, ...others } = Object.fromEntries(action.searchParams)
    expect([action.pathname, prompt]).toEqual(['/logout', passed])
    expect(others).toEqual(Object.fromEntries(new URL(authorizeUrl(client.clientId)).searchParams))
  })

  test('Use another account signs out and keeps the request', async () => {
    const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'kept' } })
    expect(page.body).toContain('<button class="link" type="submit" form="switch">')
    const login = await useAnotherAccount(browser, page)
    expect(pathOf(login)).toBe('/login')
    expect(browser.cookies.has(COOKIES.session)).toBe(false)
    const consent = await browser.submit(login, { username: 'bob', password: PASSWORD })
    expect(visibleText(consent.body)).toContain('Signed in as bob Use another account')
    const answer = await browser.submitOnly(consent, ALLOW)
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String), state: 'kept' })
  })
})

describe('changes between the page and Allow take effect', () => {
  const update = async (set: string, value: unknown) =>
    server.database.query({
      name: `update ${set}`,
      text: `update clients set ${set} = $2 where client_id = $1`,
      values: [client.clientId, value]
    })

  test.each<{ name: string; change: () => Promise<unknown>; title: string }>([
    {
      name: 'the client was disabled',
      change: () => disable(server, 'client', client.clientId),
      title: 'This app is not known here'
    },
    {
      name: 'the client was deleted',
      change: () => deleteRow(server, 'client', client.clientId),
      title: 'This app is not known here'
    },
    {
      name: 'the redirect URI was removed from the registration',
      change: () => update('redirect_uris', ['https://app.example/other']),
      title: 'This app sent a wrong return address'
    }
  ])('$name: an error page without a link to the app', async ({ change, title }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    await change()
    for (const ended of [await browser.submit(page, ALLOW), await browser.open(page.url)]) {
      expect([ended.statusCode, pathOf(ended)]).toEqual([400, '/oauth/authorize'])
      expect(visibleText(ended.body)).toContain(title)
      expect(otherAddressesOn(ended.body)).toEqual([])
    }
    expect(await countGrants()).toBe(0)
  })

  test.each<{ name: string; change: () => Promise<unknown>; error: string }>([
    {
      name: 'the scope is no longer allowed',
      change: () => update('required_scopes', ['files.read:images']),
      error: 'invalid_scope'
    },
    { name: 'the client must now use PKCE', change: () => update('requires_pkce', true), error: 'invalid_request' }
  ])('$name: redirect with $error', async ({ change, error }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    await change()
    const answer = await browser.submit(page, ALLOW)
    expect(responseParameters(answer)).toMatchObject({ error, state: 'a state', iss: ISSUER })
    expect(await countGrants()).toBe(0)
  })

  test('the user was disabled: the sign-in page, and no grant', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await disable(server, 'user', aliceId)
    expect(pathOf(await browser.submit(page, ALLOW))).toBe('/login')
    await enable(server, 'user', aliceId)
    expect(await countGrants()).toBe(0)
  })

  test('the name of the client was changed: the page shows the new one', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await update('name', 'Renamed')
    expect(visibleText((await browser.open(page.url)).body)).toContain('Allow Renamed?')
  })
})

describe('a form that is sent again', () => {
  /** A browser in which alice sees the consent page. */
  async function atConsent(): Promise<{ browser: Browser; consent: Page }> {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId))
    return { browser, consent: await browser.submit(login, { username: 'alice', password: PASSWORD }) }
  }

  const allow = (browser: Browser, page: Page) => browser.submitOnly(page, { decision: 'allow' })
  const deny = (browser: Browser, page: Page) => browser.submitOnly(page, { decision: 'deny' })
  const locationOf = (page: Page) => String(page.headers.location)

  function expectStartedAgain(page: Page): void {
    expect(page.statusCode).toBe(303)
    expect(locationOf(page)).toMatch(new RegExp(`^${ISSUER}/oauth/authorize\\?.*client_id=`))
  }

  describe('Allow, sent a second time', () => {
    test('gives the same redirect, and the code works once', async () => {
      const { browser, consent } = await atConsent()
      const first = await allow(browser, consent)
      const second = await allow(browser, consent)
      expect(second.statusCode).toBe(303)
      expect(locationOf(second)).toBe(locationOf(first))
      const code = responseParameters(first).code ?? ''
      expect((await exchange(server, client, code)).statusCode).toBe(200)
    })

    test('12 concurrent times: all responses contain the same code', async () => {
      const { browser, consent } = await atConsent()
      const answers = await Promise.all(Array.from({ length: 12 }, () => allow(browser, consent)))
      expect(new Set(answers.map(locationOf)).size).toBe(1)
      expect(responseParameters(answers[0] as Page).code).toMatch(/^vk_ac_/)
    })

    test('after the code was redeemed: starts the request again', async () => {
      const { browser, consent } = await atConsent()
      const code = responseParameters(await allow(browser, consent)).code ?? ''
      await exchange(server, client, code)
      const again = await allow(browser, consent)
      expectStartedAgain(again)
      expect((await browser.open(locationOf(again))).body).toContain('value="allow"')
    })

    test('from a second copy of the page, which has another answer key: starts the request again', async () => {
      const { browser, consent } = await atConsent()
      const reloaded = await browser.open(consent.url)
      await allow(browser, consent)
      expectStartedAgain(await allow(browser, reloaded))
    })

    test('with another answer key in the form: starts the request again', async () => {
      const { browser, consent } = await atConsent()
      await allow(browser, consent)
      expectStartedAgain(await browser.submitOnly(consent, { decision: 'allow', answer_key: 'A'.repeat(43) }))
    })

    test('from another browser: gives no redirect to the app', async () => {
      const { browser, consent } = await atConsent()
      await allow(browser, consent)
      const other = server.newBrowser()
      await other.open(`${ISSUER}/login`)
      expectStartedAgain(await allow(other, consent))
    })

    test('from another user’s browser, with a valid CSRF token and the answer key: gives no redirect to the app', async () => {
      await server.createUser('carol', PASSWORD)
      const { browser, consent } = await atConsent()
      await allow(browser, consent)
      const other = server.newBrowser()
      const login = await other.open(authorizeUrl(client.clientId))
      const carols = await other.submit(login, { username: 'carol', password: PASSWORD })
      const fields = { decision: 'allow', csrf_token: hiddenField(carols.body, 'csrf_token') }
      expectStartedAgain(await other.submitOnly(consent, fields))
      expect(responseParameters(await allow(browser, consent)).code).toMatch(/^vk_ac_/)
    })

    test('after signing out and in again: no redirect to the app, because the form belongs to the earlier session', async () => {
      const { browser, consent } = await atConsent()
      await allow(browser, consent)
      await browser.submit(await signOut(browser), { username: 'alice', password: PASSWORD })
      expectStartedAgain(await allow(browser, consent))
    })

    test('changed to Deny: gives no code', async () => {
      const { browser, consent } = await atConsent()
      await allow(browser, consent)
      expectStartedAgain(await deny(browser, consent))
    })

    test('a form without the answer key works once, and starts the request again the second time', async () => {
      const { browser, consent } = await atConsent()
      const first = await browser.submitOnly(consent, { decision: 'allow', answer_key: '' })
      expect(responseParameters(first).code).toMatch(/^vk_ac_/)
      expectStartedAgain(await browser.submitOnly(consent, { decision: 'allow', answer_key: '' }))
    })
  })

  test('Redis contains neither the code nor the redirect in clear text, and the encrypted redirect is deleted with the code', async () => {
    const { browser, consent } = await atConsent()
    const code = responseParameters(await allow(browser, consent)).code ?? ''
    const records = async () => {
      const keys = await server.redis.keys('vk:code:*')
      const texts = await Promise.all(keys.map((key) => server.redis.get(key)))
      return texts.map((text, index) => ({ key: keys[index] ?? '', answer: text?.split('\n')[1] ?? '' }))
    }
    const stored = await records()
    expect(stored.some(({ answer }) => answer.length > 100)).toBe(true)
    const text = JSON.stringify([stored, await server.redis.keys('*')])
    expect(text).not.toContain(code)
    expect(stored.map(({ answer }) => Buffer.from(answer, 'base64').toString('latin1')).join()).not.toContain(code)
    await exchange(server, client, code)
    const before = new Set(stored.map(({ key }) => key))
    const spent = (await records()).filter(({ key }) => before.has(key))
    expect(spent.filter(({ answer }) => answer !== '')).toHaveLength(
      stored.filter(({ answer }) => answer !== '').length - 1
    )
  })

  describe('Deny, sent a second time', () => {
    test('gives the same response', async () => {
      const { browser, consent } = await atConsent()
      const first = await deny(browser, consent)
      const second = await deny(browser, consent)
      expect(responseParameters(first)).toMatchObject({ error: 'access_denied', state: 'a state', iss: ISSUER })
      expect(locationOf(second)).toBe(locationOf(first))
    })

    test('changed to Allow: starts the request again', async () => {
      const { browser, consent } = await atConsent()
      await deny(browser, consent)
      expectStartedAgain(await allow(browser, consent))
    })
  })

  test('a process that ended during a decision does not block the next form', async () => {
    const { browser, consent } = await atConsent()
    // The state of Redis if the process ends right after it took the request.
    for (const list of await server.redis.keys('vk:requests:*')) {
      const decision = list.replace('vk:requests:', 'vk:decision:')
      for (const hash of await server.redis.lrange(list, 0, -1)) {
        await server.redis.set(`${decision}:${hash}`, 'deciding', 'PX', 300)
      }
      await server.redis.del(list)
    }
    expectStartedAgain(await allow(browser, consent))
  })
})

describe('registrations that change while the page is open', () => {
  test('the default scopes change while the page is open: Allow of the old page shows the new scope, and gives no code', async () => {
    await server.createScope('notes.read', { isDefault: true })
    await server.createScope('notes.delete')
    const { clientId } = await server.createClient({
      requiredScopes: [],
      optionalScopes: ['notes.read', 'notes.delete']
    })
    const browser = await signedInBrowser(server)
    const page = await browser.open(authorizeUrl(clientId, { scope: undefined }))
    expect(visibleText(page.body)).not.toContain('notes.delete')

    await change('scopes', 'update', 'notes.read', '--no-default')
    await change('scopes', 'update', 'notes.delete', '--default')
    await until(async () => (await server.deps.authorize.scopes.list()).some(isNewDefault))
    const again = await browser.submit(page, { decision: 'allow' })
    expect([new URL(again.url).pathname, again.statusCode]).toEqual(['/consent', 200])
    expect(visibleText(again.body)).toContain('notes.delete')
    expect(String((await browser.submitOnly(again, { decision: 'allow' })).headers.location)).toContain('code=')
  })

  test('a scope becomes required while the page is open: Allow of the old page does not include it', async () => {
    const scopes = ['files.read', 'files.read:images']
    const { clientId } = await server.createClient({
      requiredScopes: ['files.read'],
      optionalScopes: ['files.read:images']
    })
    const browser = await signedInBrowser(server)
    const page = await browser.open(authorizeUrl(clientId, { scope: scopes.join(' ') }))
    await change('clients', 'update', clientId, '--scope', scopes.join(' '), '--optional-scope', '')
    const { clients } = server.deps.authorize
    await until(async () => (await clients.find(clientId))?.requiredScopes.length === 2)
    const again = await browser.submit(page, { decision: 'allow' })
    expect([new URL(again.url).pathname, again.statusCode]).toEqual(['/consent', 200])
  })

  async function change(...command: string[]): Promise<void> {
    expect(await runCommand(server.database, command)).toMatchObject({ code: 0, said: '' })
  }

  function isNewDefault({ name, isDefault }: { name: string; isDefault: boolean }): boolean {
    return name === 'notes.delete' && isDefault
  }
})
