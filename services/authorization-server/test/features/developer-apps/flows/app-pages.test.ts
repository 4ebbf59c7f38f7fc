import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { AUDIENCE, ISSUER, type TestServer } from '../../../support/authorization-server.js'
import { type Browser, firstForm } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import {
  APPS,
  newApp,
  OFFERED,
  secretIn,
  sendForm,
  sendNewApp,
  startDeveloperServer,
  VALID
} from '../../../support/developer.js'
import { authorizeUrl, PASSWORD } from '../../../support/flow.js'
import { submitMultipart } from '../../../support/multipart-form.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { obtainTokens } from '../../../support/tokens.js'

const clock = stopClock()
let server: TestServer

beforeAll(async () => {
  server = await startDeveloperServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('pages of an app', () => {
  const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  let browser: Browser

  const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })
  beforeEach(async () => {
    await run('delete from users')
    await run(`delete from clients where origin = 'developer'`)
    await server.createUser('alice', PASSWORD)
    browser = await signedInBrowser(server)
  })

  const textOf = async (url: string) => visibleText((await browser.open(url)).body)

  describe('/account/developer/apps/ID', () => {
    test('asks for approval and withdraws the request', async () => {
      const { url } = await newApp(server, browser)
      const requested = await sendForm(browser, url, 'request')
      expect([requested.url, visibleText(requested.body)]).toEqual([
        `${url}?done=requested`,
        expect.stringContaining('Waiting for approval.')
      ])
      const withdrawn = await sendForm(browser, url, 'withdraw')
      expect([withdrawn.url, visibleText(withdrawn.body)]).toEqual([
        `${url}?done=withdrawn`,
        expect.stringContaining('Draft.')
      ])
    })

    test('shows the reason of a refusal as text, and the app can be requested again', async () => {
      const { clientId, url } = await newApp(server, browser)
      const refusal = '<b>The name</b> is that of a bank.'
      await run('update developer_apps set refusal = $2, decided_at = now() where client_id = $1', [clientId, refusal])
      const { body } = await browser.open(url)
      expect(visibleText(body)).toMatch(/Not approved\..*Reason of the operator/s)
      expect(body).toContain('&lt;b&gt;The name&lt;/b&gt; is that of a bank.')
      expect((await sendForm(browser, url, 'request')).url).toBe(`${url}?done=requested`)
      expect(await textOf(url)).not.toContain('that of a bank')
    })

    test.each(['', '/edit', '/delete'])('an invalid id is not used in a redirect: %j', async (below) => {
      for (const id of ['%0d%0aset-cookie:a=b', '%E2%82%AC', 'a%26prompt=none', 'a%2f..%2f..']) {
        const { statusCode, headers } = await server.newBrowser().get(`${APPS}/apps/${id}${below}`)
        expect([id, statusCode, headers.location]).toEqual([id, 404, undefined])
      }
    })

    test('a change of an approved app can be withdrawn', async () => {
      const { clientId, url } = await newApp(server, browser)
      const pending = {
        name: 'Bells',
        redirectUris: ['https://b.example/'],
        requiredScopes: ['x'],
        optionalScopes: [],
        branding: {}
      }
      await run('update clients set published = true where client_id = $1', [clientId])
      const change = 'update developer_apps set pending = $2::jsonb, requested_at = now() where client_id = $1'
      await run(change, [clientId, JSON.stringify(pending)])
      expect(await textOf(url)).toMatch(/Now\s+Wind Chimes\s+After approval\s+Bells/)
      const withdrawn = await sendForm(browser, url, 'withdraw-change')
      expect(visibleText(withdrawn.body)).toContain('Approved.')
      expect(visibleText(withdrawn.body)).not.toContain('Bells')
    })

    test('names endpoints and settings to copy', async () => {
      const { clientId, url } = await newApp(server, browser)
      const { body } = await browser.open(url)
      const rows = body.matchAll(/<code dir="ltr">([a-z_]+)<\/code><\/dt><dd><code class="copyable"[^>]*>([^<]*)</g)
      expect([...rows].map(([, name, value]) => `${name}=${value}`)).toEqual([
        `issuer=${ISSUER}`,
        `metadata=${ISSUER}/.well-known/oauth-authorization-server`,
        `authorization_endpoint=${ISSUER}/oauth/authorize`,
        `token_endpoint=${ISSUER}/token`,
        `revocation_endpoint=${ISSUER}/oauth/revoke`,
        `client_id=${clientId}`,
        'redirect_uri=https://app.example/callback',
        'scope=photos.read',
        `resource=${AUDIENCE}`
      ])
    })

    test('counts the connected users, and so does the list of apps', async () => {
      const name = `Counted ${Math.random()}`
      const { clientId, clientSecret = '', url } = await newApp(server, browser, { name })
      const listed = async () => (await textOf(`${ISSUER}/account/developer`)).split(name)[1] ?? ''
      expect(await listed()).toMatch(/^ Draft No users yet /)
      await run('update clients set published = true where client_id = $1', [clientId])
      await obtainTokens(server, { clientId, clientSecret }, { scope: 'photos.read' })
      const text = await textOf(url)
      expect(text).toMatch(/Connected users 1 /)
      expect(await listed()).toMatch(/^ [^.]+ 1 user /)
    })

    test.each(['request', 'withdraw', 'withdraw-change', 'disable', 'delete', 'secrets', 'secrets/remove', 'owners'])(
      '%s: a form of another site changes nothing, and the app of another user is unknown',
      async (below) => {
        const { clientId, url } = await newApp(server, browser)
        const own = await browser.open(`${url}/delete`)
        const form = (page: typeof own) =>
          Object.assign(Object.create(page), { body: page.body.replaceAll(`${url}/delete`, `${url}/${below}`) })
        expect((await browser.submitOnly(form(own), {}, FOREIGN)).statusCode).toBe(403)
        await server.createUser('mallory', PASSWORD)
        const mallory = await signedInBrowser(server, 'mallory')
        const { clientId: others, url: othersUrl } = await newApp(server, mallory, { name: 'Others' })
        const page = await mallory.open(`${othersUrl}/delete`)
        const answers = []
        for (const target of [clientId, 'A'.repeat(clientId.length), '..']) {
          const body = page.body.replaceAll(`${othersUrl}/delete`, `${APPS}/apps/${target}/${below}`)
          const answer = await mallory.submitOnly(Object.assign(Object.create(page), { body }), { username: 'bob' })
          answers.push([answer.statusCode, visibleText(answer.body).replace(/Request id.*/s, '')])
        }
        expect(new Set(answers.map(String)).size).toBe(1)
        expect(answers[0]?.[0]).toBe(404)
        expect(others).not.toBe(clientId)
        const rows = await run('select client_id from developer_apps where client_id = $1 and requested_at is null', [
          clientId
        ])
        expect(rows).toHaveLength(1)
      }
    )

    test('without a session it leads to the sign-in page and back to the app', async () => {
      const { url, clientId } = await newApp(server, browser)
      const stranger = server.newBrowser()
      const login = await stranger.open(url)
      expect(login.url).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
      expect((await stranger.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(url)
    })

    test.each(['developer/apps/../../../logout', 'developer/apps/', '//evil.example', 'developer//a'])(
      'the sign-in page does not lead to "%s"',
      async (page) => {
        const stranger = server.newBrowser()
        const login = await stranger.open(`${ISSUER}/login?page=${encodeURIComponent(page)}`)
        const after = await stranger.submit(login, { username: 'alice', password: PASSWORD })
        expect(after.url).toBe(`${ISSUER}/account/apps`)
      }
    )
  })

  describe('end of an app', () => {
    test.each([
      { end: 'disable', submit: 'Disable Wind Chimes', after: (url: string) => `${url}?done=disabled` },
      { end: 'delete', submit: 'Delete Wind Chimes', after: () => `${APPS}?done=deleted` }
    ])(
      '$end: a page that names the app asks first, and the app gets no more access',
      async ({ end, submit, after }) => {
        const { clientId, url } = await newApp(server, browser)
        expect((await browser.open(url)).body).not.toContain(`action="${url}/${end}"`)
        const page = await browser.open(`${url}/${end}`)
        expect(visibleText(page.body)).toContain(submit)
        expect((await browser.submit(page, {})).url).toBe(after(url))
        const request = await browser.get(authorizeUrl(clientId, { scope: 'photos.read' }))
        expect([request.statusCode, request.headers.location]).toEqual([400, undefined])
        // Sent twice.
        expect([303, 404]).toContain((await browser.submitOnly(page, {})).statusCode)
      }
    )

    test.each(['disable', 'delete'])('%s needs a fresh sign-in', async (end) => {
      const { clientId, url } = await newApp(server, browser)
      const page = await browser.open(`${url}/${end}`)
      clock.advance(360)
      const answer = await browser.submitOnly(page, {})
      expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
      expect((await browser.open(`${url}/${end}`)).body).not.toContain('<form')
      expect(await textOf(url)).toContain('Draft.')
    })
  })

  describe('DEVELOPER_APPS=open', () => {
    test('an app is published immediately, and so is a change', async () => {
      const open = await startDeveloperServer('open')
      try {
        await open.createUser('alice', PASSWORD)
        const alice = await signedInBrowser(open)
        const { url } = await newApp(open, alice)
        const page = await alice.open(url)
        expect(visibleText(page.body)).toContain('Works for everybody.')
        expect(() => fromForm(page, `${new URL(url).pathname}/request`)).toThrow()
      } finally {
        await open.close()
      }
    })
  })
})

describe('form of an app', () => {
  const BRANDING = {
    publisher: 'Chimes Limited',
    home_page: 'https://chimes.example/',
    privacy_policy: 'https://chimes.example/privacy',
    terms: 'https://chimes.example/terms'
  }
  const png = async () => {
    const create = { width: 8, height: 8, channels: 3, background: '#146' } as const
    return new Blob([new Uint8Array(await sharp({ create }).png().toBuffer())])
  }
  let browser: Browser
  beforeEach(async () => {
    await query('delete from users')
    await query(`delete from clients where origin = 'developer'`)
    await server.createUser('alice', PASSWORD)
    browser = await signedInBrowser(server)
  })

  const query = (text: string, values: readonly unknown[] = []) =>
    server.database.query<{ count: number }>({ name: '', text, values })
  const appCount = async () => (await query('select count(*)::int as count from developer_apps'))[0]?.count

  describe('/account/developer/new', () => {
    test('registers a confidential app and shows its secret once', async () => {
      const answer = await sendNewApp(server, browser)
      expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
      expect(secretIn(answer.body)).toBeDefined()
      const list = await browser.open(APPS)
      expect(visibleText(list.body)).toContain('Wind Chimes')
      const address = /href="([^"]*\/apps\/[^"]*)"/.exec(list.body)?.[1] ?? ''
      const page = await browser.open(address)
      expect(visibleText(page.body)).toContain('Draft.')
      expect(page.body + list.body).not.toContain('vk_cs_')
    })

    test('registers a public app without a secret', async () => {
      const answer = await sendNewApp(server, browser, { type: 'public' })
      expect(answer.headers.location).toMatch(/\/account\/developer\/apps\/[\w-]+\?done=registered$/)
      const page = await browser.open(String(answer.headers.location))
      expect(visibleText(page.body)).toContain('Registered.')
      expect(page.body).not.toContain('/secrets')
    })

    test.each([
      { problem: 'no name', fields: { name: '' }, id: 'name', text: 'Enter a name' },
      {
        problem: 'a name of 101 characters',
        fields: { name: 'n'.repeat(101) },
        id: 'name',
        text: '1 to 100 characters'
      },
      { problem: 'the name of the product', fields: { name: 'Valetkey' }, id: 'name', text: 'reserved' },
      { problem: 'a name of two scripts', fields: { name: 'Рареr Kite' }, id: 'name', text: 'mixes letters' },
      { problem: 'digits of two kinds', fields: { name: 'Kite 1𝟐' }, id: 'name', text: 'digits of different kinds' },
      { problem: 'a check mark', fields: { name: 'Kite ✓' }, id: 'name', text: 'such as ✓ or a lock' },
      { problem: 'no redirect URI', fields: { redirect_uris: ' \n' }, id: 'redirect_uris', text: 'at least one' },
      {
        problem: 'a redirect URI with a fragment',
        fields: { redirect_uris: 'https://a.example/\nhttps://b.example/#c' },
        id: 'redirect_uris',
        text: 'https://b.example/#c'
      },
      { problem: 'no scope', fields: { [`scope.${OFFERED}`]: '' }, id: 'scopes', text: 'at least one scope' },
      {
        problem: 'a scope that is not released',
        fields: { [`scope.${OFFERED}`]: '', 'scope.files.read': 'required' },
        id: 'scopes',
        text: 'at least one scope'
      }
    ])('$problem: 422, the text beside the field, and the input is kept', async ({ fields, id, text }) => {
      const answer = await sendNewApp(server, browser, { ...fields, type: 'public' })
      expect([answer.statusCode, await appCount()]).toEqual([422, 0])
      const beside = new RegExp(`id="${id}-problem">([\\s\\S]*?)</div>`).exec(answer.body)?.[1] ?? ''
      expect(visibleText(beside)).toContain(text)
      expect(answer.body).toContain(`<a href="#${id}">`)
      const kept: Record<string, string> = { ...VALID, ...fields }
      expect(firstForm(answer.body).fields.name).toBe(kept.name)
      const typedUris = /<textarea id="redirect_uris"[^>]*>\n([\s\S]*?)<\/textarea>/.exec(answer.body)?.[1] ?? ''
      expect(typedUris.trim()).toBe(kept.redirect_uris?.trim())
      expect(answer.body).toMatch(/value="public" checked/)
    })

    test('a name that looks like that of another app is refused', async () => {
      await newApp(server, browser)
      const answer = await sendNewApp(server, browser, { name: 'W\u0456nd Ch\u0456mes' })
      expect([answer.statusCode, visibleText(answer.body)]).toEqual([
        422,
        expect.stringContaining('Another app has this name')
      ])
    })

    test('HTML in name and redirect URI is shown as text', async () => {
      const name = `<img src=x onerror=alert(1)>"'`
      const answer = await sendNewApp(server, browser, { name, redirect_uris: '<script>alert(1)</script>' })
      expect(answer.statusCode).toBe(422)
      expect(answer.body).not.toMatch(/<img src=x|<script>/)
      const { url } = await newApp(server, browser, { name })
      for (const address of [APPS, url, `${url}/edit`, `${url}/delete`]) {
        expect((await browser.open(address)).body).not.toContain('<img src=x')
      }
    })

    test('a field of 33 KiB is refused without a page that contains it', async () => {
      const answer = await sendNewApp(server, browser, { name: 'n'.repeat(33 * 1024) })
      expect([answer.statusCode, answer.body.length < 8_000, await appCount()]).toEqual([413, true, 0])
    })

    test('a logo of more than 1 MB is refused, and the input is kept', async () => {
      const answer = await sendNewApp(server, browser, { logo: new Blob([Buffer.alloc(1024 * 1024 + 1)]) })
      expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('larger than 1 MB')])
      expect(firstForm(answer.body).fields.name).toBe(VALID.name)
    })

    test('publisher, addresses and a logo, which is encoded again', async () => {
      const { url } = await newApp(server, browser, { ...BRANDING, logo: await png() })
      const page = await browser.open(url)
      for (const value of Object.values(BRANDING)) expect(visibleText(page.body)).toContain(value)
      const logo = /<img class="own-logo" src="([^"]*)"/.exec(page.body)?.[1] ?? ''
      expect(logo).toMatch(/^http:\/\/localhost:4000\/logos\/[0-9a-f]{64}\.png$/)
      expect((await browser.open(logo)).headers['content-type']).toBe('image/png')
      const edit = await browser.open(`${url}/edit`)
      await submitMultipart(server, browser, edit, { ...VALID, remove_logo: 'on' })
      const without = await browser.open(url)
      expect(without.body).not.toContain('own-logo')
      expect(visibleText(without.body)).toContain(BRANDING.publisher)
    })

    test.each([
      { fields: { publisher: 'p'.repeat(81) }, id: 'publisher', text: '1 to 80 characters' },
      { fields: { home_page: 'javascript:alert(1)' }, id: 'home_page', text: 'must begin with https' },
      { fields: { privacy_policy: 'no address' }, id: 'privacy_policy', text: 'not a web address' },
      { fields: { terms: 'https://bank.example@evil.example/' }, id: 'terms', text: 'must not have a user name' },
      { fields: { logo: new Blob(['<svg onload="alert(1)"/>']) }, id: 'logo', text: 'cannot be read' }
    ])('a wrong $id: 422, and the text beside the field', async ({ fields, id, text }) => {
      const answer = await sendNewApp(server, browser, fields as Record<string, string | Blob>)
      const beside = new RegExp(`id="${id}-problem">([\\s\\S]*?)</div>`).exec(answer.body)?.[1] ?? ''
      expect([answer.statusCode, visibleText(beside), await appCount()]).toEqual([
        422,
        expect.stringContaining(text),
        0
      ])
    })

    test('names the problems of all fields on one page', async () => {
      const answer = await sendNewApp(server, browser, { name: '', redirect_uris: '', home_page: 'x' })
      expect(answer.body.match(/<a href="#\w+">/g)).toHaveLength(3)
    })

    test('sent twice at the same moment, it registers one app', async () => {
      const page = await browser.open(`${APPS}/new`)
      const answers = await Promise.all([1, 2].map(() => submitMultipart(server, browser, page, VALID)))
      expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
      expect(await appCount()).toBe(1)
    })

    test('the 11th app on one day is refused', async () => {
      for (let count = 1; count <= 10; count++)
        await newApp(server, browser, { name: `${'abcdefghij'[count - 1]} chimes` })
      const answer = await sendNewApp(server, browser)
      expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('many apps today')])
    })

    test('a form of another site is refused', async () => {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const answer = await sendNewApp(server, browser, {}, headers)
      expect([answer.statusCode, await appCount()]).toEqual([403, 0])
    })

    test('without the CSRF token nothing is saved, and the form can be sent again with what was typed', async () => {
      const stale = await sendNewApp(server, browser, { csrf_token: 'wrong' })
      expect([stale.statusCode, visibleText(stale.body)]).toEqual([422, expect.stringContaining('send the form again')])
      expect(firstForm(stale.body).fields.name).toBe(VALID.name)
      const again = { redirect_uris: VALID.redirect_uris, type: 'public', [`scope.${OFFERED}`]: 'optional' }
      expect((await submitMultipart(server, browser, stale, again)).statusCode).toBe(303)
    })

    test('six minutes after the sign-in it asks for a new one, and keeps what was typed', async () => {
      const page = await browser.open(`${APPS}/new`)
      clock.advance(360)
      const late = await submitMultipart(server, browser, page, VALID)
      expect([late.statusCode, await appCount()]).toEqual([422, 0])
      expect(late.body).toContain(`href="${ISSUER}/login?page&#x3D;developer" target="_blank"`)
      expect(firstForm(late.body).fields.name).toBe(VALID.name)
      const login = await browser.open(`${APPS}/new`)
      expect(login.url).toBe(`${ISSUER}/login?page=developer/new`)
      expect((await browser.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(`${APPS}/new`)
    })

    test('without a session the body is not read', async () => {
      const page = await browser.open(`${APPS}/new`)
      const answer = await submitMultipart(server, server.newBrowser(), page, VALID)
      expect([answer.statusCode, answer.headers.location]).toEqual([303, `${ISSUER}/login?page=developer/new`])
    })
  })

  describe('/account/developer/apps/ID/edit', () => {
    test('changes a draft immediately', async () => {
      const { url } = await newApp(server, browser)
      const page = await browser.open(`${url}/edit`)
      expect(page.body).toContain('https://app.example/callback</textarea>')
      const fields = { ...VALID, name: 'Bells', redirect_uris: 'https://b.example/cb\nhttps://c.example/cb' }
      const answer = await submitMultipart(server, browser, page, fields)
      expect(answer.headers.location).toBe(`${url}?done=saved`)
      const shown = visibleText((await browser.open(url)).body)
      expect(shown).toMatch(/Bells.*https:\/\/b.example\/cb.*https:\/\/c.example\/cb/s)
    })

    test('a change of an approved app waits, beside the live values', async () => {
      const { clientId, url } = await newApp(server, browser)
      await query('update clients set published = true where client_id = $1', [clientId])
      const page = await browser.open(`${url}/edit`)
      expect(visibleText(page.body)).toContain('This app is approved.')
      const fields = { ...VALID, name: 'Bells' }
      const answer = await submitMultipart(server, browser, page, fields)
      expect(answer.headers.location).toBe(`${url}?done=pending`)
      const shown = visibleText((await browser.open(url)).body)
      expect(shown).toMatch(/Approved; a change is waiting.*Now\s+Wind Chimes\s+After approval\s+Bells/s)
      // The next edit starts with what is pending.
      expect(firstForm((await browser.open(`${url}/edit`)).body).fields.name).toBe('Bells')
    })

    test('the app of another user gets the same response as an unknown one', async () => {
      const { url } = await newApp(server, browser)
      await server.createUser('mallory', PASSWORD)
      const mallory = await signedInBrowser(server, 'mallory')
      const form = await mallory.open(`${APPS}/new`)
      const answers = await Promise.all(
        [url, `${APPS}/apps/unknown`].map(async (address) => {
          const shown = await mallory.get(`${address}/edit`)
          const page = { body: form.body.replaceAll(`${APPS}/new`, `${address}/edit`) }
          const sent = await submitMultipart(server, mallory, page, VALID)
          return [shown, sent].map(({ statusCode, body }) => [statusCode, body.replace(/Request id.*?<\/code>/, '')])
        })
      )
      expect(answers[0]).toEqual(answers[1])
      expect(answers[0]?.map(([status]) => status)).toEqual([404, 404])
    })
  })
})
