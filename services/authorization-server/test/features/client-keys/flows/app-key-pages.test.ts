import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createLimiter } from '../../../../src/platform/rate-limits/limiter.js'
import { accountChangeLimit } from '../../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../../src/storage/redis/attempt-counters.js'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import { type Browser, firstForm } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { APPS, newApp, secretIn, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD, post } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { assertionForm, createSigningKey, type SigningKey } from '../support/assertions.js'

const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
const FORMS = ['', '/remove', '/register', '/address', '/secret']

const clock = stopClock()
let server: TestServer
let keys: SigningKey[]
let browser: Browser
let app: Awaited<ReturnType<typeof newApp>>
let userId: string

beforeAll(async () => {
  server = await startDeveloperServer()
  keys = await Promise.all(['one', 'two', 'three'].map((kid) => createSigningKey('ES256', kid)))
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
beforeEach(async () => {
  await run('delete from users')
  await run(`delete from clients where origin = 'developer'`)
  userId = await server.createUser('alice', PASSWORD)
  browser = await signedInBrowser(server)
  app = await newApp(server, browser)
})

const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })
const keysUrl = () => `${app.url}/keys`
const jwkOf = (index: number) => JSON.stringify(keys[index]?.jwk)
const send = (below: string, fields: Record<string, string> = {}) => sendForm(browser, keysUrl(), below, fields)
const register = (text: string) => send('register', { keys: text })
/** The form to the page's own address. */
const add = async (text: string) => {
  const { pathname } = new URL(keysUrl())
  return browser.submit(fromForm(await browser.open(keysUrl()), pathname), { keys: text })
}
const textOfPage = async (url = keysUrl()) => visibleText((await browser.open(url)).body)
/** What the page shows in the text area. */
const typedOn = (body: string) => {
  const [, typed = ''] = /<textarea id="keys"[^>]*>\n([\s\S]*?)<\/textarea>/.exec(body) ?? []
  return firstForm(`<form action=""><input name="typed" value="${typed.trim()}"></form>`).fields.typed
}
const kidsOf = async () => {
  const rows = await server.database.query<{ kid: string }>({
    name: '',
    text: 'select kid from client_keys where client_id = $1 order by kid',
    values: [app.clientId]
  })
  return rows.map(({ kid }) => kid)
}
const revoke = async (credentials: Record<string, string>) =>
  (await post(server, '/oauth/revoke', { token: 'x', client_id: app.clientId, ...credentials })).statusCode
const revokeWithKey = async (index: number) => revoke(await assertionForm(keys[index] as SigningKey, app.clientId))

describe('/account/developer/apps/ID/keys', () => {
  test('an app with a secret changes to keys: the secret stops working at once, and back', async () => {
    const secret = { client_secret: app.clientSecret ?? '' }
    expect(await revoke(secret)).toBe(200)
    expect(await textOfPage()).toMatch(
      /Client secret\..*client secrets of this app stop working at once and are deleted/s
    )
    const changed = await register(jwkOf(0))
    expect(changed.url).toBe(`${keysUrl()}?done=keys`)
    expect(visibleText(changed.body)).toMatch(/Changed\..*private_key_jwt.*one.*P-256.*ES256.*Not used yet/s)
    expect([await revoke(secret), await revokeWithKey(0)]).toEqual([401, 200])
    const page = await send('secret')
    expect([page.statusCode, page.headers['cache-control']]).toEqual([200, 'no-store'])
    const created = secretIn(page.body) ?? ''
    expect(await revoke(secret)).toBe(401)
    expect([await revoke({ client_secret: created }), await revokeWithKey(0)]).toEqual([200, 401])
    expect((await browser.open(keysUrl())).body).not.toContain('vk_cs_')
  })

  test('a key is added, both work, and the old one is removed', async () => {
    await register(jwkOf(0))
    expect(await textOfPage()).toContain('This is the only key.')
    const added = await add(jwkOf(1))
    expect(added.url).toBe(`${keysUrl()}?done=added`)
    expect([await revokeWithKey(0), await revokeWithKey(1)]).toEqual([200, 200])
    const page = await browser.open(keysUrl())
    expect(page.body.match(/class="button button-bad button-small"/g)).toHaveLength(2)
    const removed = await send('remove', { kid: 'one' })
    expect([removed.url, await kidsOf()]).toEqual([`${keysUrl()}?done=removed`, ['two']])
    expect([await revokeWithKey(0), await revokeWithKey(1)]).toEqual([401, 200])
    const last = await browser.submit(fromForm(page, `${new URL(keysUrl()).pathname}/remove`), { kid: 'two' })
    expect([last.statusCode, visibleText(last.body)]).toEqual([
      422,
      expect.stringContaining('The key was not removed.')
    ])
  })

  test('the app publishes its keys: the page shows the address and what was fetched', async () => {
    const page = await send('address', { jwks_uri: ' https://chimes.example/jwks.json ' })
    expect(page.url).toBe(`${keysUrl()}?done=address`)
    expect(visibleText(page.body)).toMatch(/https:\/\/chimes\.example\/jwks\.json.*not yet/s)
    const fetched = `insert into client_key_sets (client_id, jwks_uri, keys, fetched_at, fresh_until)
      values ($1, 'https://chimes.example/jwks.json', $2, '2026-11-02 10:20:30Z', now())`
    await run(fetched, [app.clientId, JSON.stringify([keys[2]?.jwk])])
    expect(await textOfPage()).toMatch(/Last fetched Nov 2, 2026, 10:20 AM UTC.*three Type P-256/s)
    expect(await revoke({ client_secret: app.clientSecret ?? '' })).toBe(401)
  })

  test('the page of the app leads here, and has no secrets while it has keys', async () => {
    expect((await browser.open(app.url)).body).toContain(`href="${keysUrl()}"`)
    await register(jwkOf(0))
    const page = await browser.open(app.url)
    expect(page.body).toContain(`href="${keysUrl()}"`)
    expect(page.body).not.toContain('/secrets')
    expect(visibleText(page.body)).toContain('It has no client secret.')
  })

  test('a form for another secret, from a page before the change, creates none', async () => {
    const before = fromForm(await browser.open(app.url), `${new URL(app.url).pathname}/secrets`)
    await register(jwkOf(0))
    expect((await browser.submitOnly(before, { known_secrets: '' })).headers.location).toBe(app.url)
    expect(await run('select from client_secrets where client_id = $1', [app.clientId])).toEqual([])
  })

  test('a public app has none: its page does not lead here, and the address leads to it', async () => {
    const { url } = await newApp(server, browser, { name: 'Pocket', type: 'public' })
    expect((await browser.open(url)).body).not.toContain(`${url}/keys`)
    expect((await browser.get(`${url}/keys`)).headers.location).toBe(url)
  })

  test('without a session it leads to the sign-in page and back', async () => {
    const stranger = server.newBrowser()
    const login = await stranger.open(keysUrl())
    expect(login.url).toBe(`${ISSUER}/login?page=developer/apps/${app.clientId}/keys`)
    expect((await stranger.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(keysUrl())
  })

  test('an invalid id is not used in a redirect', async () => {
    for (const id of ['%0d%0aset-cookie:a=b', '%E2%82%AC', 'a%26prompt=none', 'a%2f..%2f..']) {
      const { statusCode, headers } = await server.newBrowser().get(`${APPS}/apps/${id}/keys`)
      expect([id, statusCode, headers.location]).toEqual([id, 404, undefined])
    }
  })
})

describe('keys that are entered', () => {
  const pem = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })

  test('JWK, JWK Set and PEM are accepted, and each is shown with its type', async () => {
    await register(JSON.stringify({ keys: [keys[0]?.jwk, (await createSigningKey('Ed25519', 'ed')).jwk] }))
    await add(`${pem('P-256')}\n${rsa.publicKey.export({ type: 'spki', format: 'pem' })}`)
    expect(await kidsOf()).toHaveLength(4)
    expect(await textOfPage()).toMatch(/Ed25519 Algorithms EdDSA, Ed25519/)
    expect(await textOfPage()).toMatch(/RSA 2048 Algorithms PS256, RS256/)
  })

  test.each([
    { keys: ' ', text: 'Enter at least one public key.' },
    { keys: 'no keys', text: 'the text has no JWK Set, JWK or PEM' },
    { keys: '{"keys":[]}', text: 'jwks has no key' },
    { keys: '{"keys":[{}]}', text: 'keys[0] must have the kty EC, OKP or RSA' },
    {
      keys: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
      text: 'no public key in PEM that can be read'
    },
    { keys: pem('secp384r1'), text: 'keys[0] must have the curve P-256' },
    { keys: `{"kty":"EC","crv":"P-256","x":"${'A'.repeat(43)}","y":"${'A'.repeat(43)}"}`, text: 'is not on its curve' },
    { keys: '{"kty":"EC","kid":"a\\nb"}', text: 'without control characters' }
  ])('$text: 422, and what was typed is kept', async ({ keys: typed, text }) => {
    const answer = await register(typed)
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining(text)])
    expect([answer.body.match(/<textarea id="keys"[^>]*aria-invalid="true"/), typedOn(answer.body)]).toEqual([
      expect.anything(),
      typed.trim()
    ])
    expect(await kidsOf()).toEqual([])
    expect(await revoke({ client_secret: app.clientSecret ?? '' })).toBe(200)
  })

  test('every key that is not usable is named', async () => {
    const text = visibleText((await register(`{"keys":[{"kty":"oct"},${jwkOf(0)},{"kty":"OKP","crv":"X25519"}]}`)).body)
    expect(text).toContain(
      'jwks is not usable: keys[0] must have the kty EC, OKP or RSA; keys[2] must have the curve Ed25519'
    )
  })

  test.each([
    { kind: 'PEM', text: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
    { kind: 'JWK', text: JSON.stringify(rsa.privateKey.export({ format: 'jwk' })) },
    { kind: 'symmetric JWK', text: '{"kty":"oct","k":"c2VjcmV0"}' }
  ])('a private key in $kind is refused and not shown again', async ({ text }) => {
    const answer = await register(text)
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringMatching(/private/)])
    expect(typedOn(answer.body)).toBe('')
    expect(await kidsOf()).toEqual([])
  })

  test('a ninth key is refused, and so is another key with a kid that is in use', async () => {
    await register(jwkOf(0))
    const page = fromForm(await browser.open(keysUrl()), new URL(keysUrl()).pathname)
    const other = JSON.stringify((await createSigningKey('ES256', 'one')).jwk)
    expect(visibleText((await browser.submit(page, { keys: other })).body)).toContain('another key with the kid one')
    const seven = await Promise.all(Array.from({ length: 7 }, () => createSigningKey('Ed25519')))
    await browser.submit(page, { keys: JSON.stringify({ keys: seven.map(({ jwk }) => jwk) }) })
    expect(await kidsOf()).toHaveLength(8)
    const full = await browser.open(keysUrl())
    expect(visibleText(full.body)).toContain('An app has at most 8 keys. Remove one that your app no longer uses.')
    expect(full.body).not.toContain('<textarea')
    const ninth = await browser.submit(page, { keys: jwkOf(1) })
    expect([ninth.statusCode, visibleText(ninth.body)]).toEqual([422, expect.stringContaining('at most 8 keys.')])
    expect(await kidsOf()).toHaveLength(8)
  })

  test('a kid is shown as text', async () => {
    const kid = `<img src=x onerror=alert(1)>"'`
    await register(JSON.stringify({ ...keys[0]?.jwk, kid }))
    const page = await add(jwkOf(1))
    expect(page.body).not.toContain('<img src=x')
    await browser.submit(fromForm(page, `${new URL(keysUrl()).pathname}/remove`), { kid })
    expect(await kidsOf()).toEqual(['two'])
  })

  test.each([
    { url: 'http://chimes.example/jwks.json', text: 'jwks_uri must be an https URL' },
    { url: 'https://user@chimes.example/', text: 'jwks_uri must have neither a user name nor a fragment' },
    { url: '', text: 'jwks_uri must be an https URL' }
  ])('the address "$url" is refused, and what was typed is kept', async ({ url, text }) => {
    const answer = await send('address', { jwks_uri: url })
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining(text)])
    expect(answer.body).toMatch(new RegExp(`id="jwks_uri"[^>]* value="${url}"[^>]* aria-invalid="true"`))
  })
})

test('an app under the profile fapi2 cannot change to a secret', async () => {
  await register(jwkOf(0))
  const page = await browser.open(keysUrl())
  const profile = `update clients set profile = 'fapi2', requires_par = true, dpop_bound = true, rotates_refresh_tokens = false
    where client_id = $1`
  await run(profile, [app.clientId])
  expect((await browser.open(keysUrl())).body).not.toContain(`${keysUrl()}/secret`)
  const answer = await browser.submit(fromForm(page, `${new URL(keysUrl()).pathname}/secret`), {})
  expect([answer.statusCode, visibleText(answer.body)]).toEqual([
    422,
    expect.stringContaining('under the profile FAPI 2.0')
  ])
  expect(await kidsOf()).toEqual(['one'])
})

describe('the forms of the page', () => {
  test.each(FORMS)(
    '"%s": a form of another site changes nothing, and the app of another user is unknown',
    async (below) => {
      await register(jwkOf(0))
      await add(jwkOf(1))
      const page = await browser.open(`${app.url}/delete`)
      const formTo = (target: string, from = page, own = app.url) =>
        Object.assign(Object.create(from), { body: from.body.replaceAll(`${own}/delete`, `${target}/keys${below}`) })
      const fields = { keys: jwkOf(2), kid: 'one', jwks_uri: 'https://a.example/' }
      expect((await browser.submitOnly(formTo(app.url), fields, FOREIGN)).statusCode).toBe(403)
      await server.createUser('mallory', PASSWORD)
      const mallory = await signedInBrowser(server, 'mallory')
      const { url: others } = await newApp(server, mallory, { name: 'Others' })
      const own = await mallory.open(`${others}/delete`)
      for (const target of [app.url, `${APPS}/apps/${'A'.repeat(22)}`]) {
        expect((await mallory.submitOnly(formTo(target, own, others), fields)).statusCode).toBe(404)
        expect((await mallory.get(`${target}/keys`)).statusCode).toBe(404)
      }
      expect(await kidsOf()).toEqual(['one', 'two'])
    }
  )

  test.each(FORMS)('"%s" needs a fresh sign-in', async (below) => {
    await register(jwkOf(0))
    await add(jwkOf(1))
    const page = await browser.open(`${app.url}/delete`)
    const body = page.body.replaceAll(`${app.url}/delete`, `${keysUrl()}${below}`)
    clock.advance(360)
    const fields = { keys: jwkOf(2), kid: 'one', jwks_uri: 'https://a.example/' }
    const answer = await browser.submitOnly(Object.assign(Object.create(page), { body }), fields)
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${app.clientId}/keys`)
    expect(await kidsOf()).toEqual(['one', 'two'])
    const shown = await browser.open(keysUrl())
    expect(shown.body.slice(shown.body.indexOf('<main'), shown.body.indexOf('</main>'))).not.toMatch(/<form[^>]*\/keys/)
    expect(visibleText(shown.body)).toContain('you need to sign in again first')
  })

  test('a page from before another change is refused, and nothing changes', async () => {
    const before = await browser.open(keysUrl())
    const { pathname } = new URL(keysUrl())
    await register(jwkOf(0))
    const answers = [
      await browser.submit(fromForm(before, `${pathname}/register`), { keys: jwkOf(1) }),
      await browser.submit(fromForm(before, `${pathname}/address`), { jwks_uri: 'https://a.example/' })
    ]
    for (const answer of answers)
      expect([answer.statusCode, visibleText(answer.body)]).toEqual([
        422,
        expect.stringContaining('Nothing was changed.')
      ])
    expect(await kidsOf()).toEqual(['one'])
    const secret = fromForm(await browser.open(keysUrl()), `${pathname}/secret`)
    const both = await Promise.all([browser.submitOnly(secret, {}), browser.submitOnly(secret, {})])
    expect(both.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
  })

  test('count as changes of the account, but a removal is never refused', async () => {
    await register(jwkOf(0))
    await add(jwkOf(1))
    const limiter = createLimiter(createAttemptCounterStore(server.redis), 1)
    for (;;)
      if (
        await limiter.count(accountChangeLimit(userId)).then(
          () => false,
          () => true
        )
      )
        break
    expect((await add(jwkOf(2))).statusCode).toBe(429)
    expect((await send('secret')).statusCode).toBe(429)
    expect((await send('remove', { kid: 'one' })).statusCode).toBe(200)
    expect(await kidsOf()).toEqual(['two'])
  })
})
