import { describe, expect, test } from '@jest/globals'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { AUDIENCE, type Credentials, ISSUER, until } from '../../../support/authorization-server.js'
import { Browser } from '../../../support/browser.js'
import { authorizeUrl, exchange, obtainCode } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { signedInBrowser } from '../../../support/pages.js'
import { changesIn, mailingServer } from '../support/mailing-server.js'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

const world = mailingServer()

const endUrlOf = ({ clientId }: Credentials) => `${ISSUER}/account/apps/end?client_id=${clientId}`

async function newApps(count: number): Promise<Credentials[]> {
  const apps: Credentials[] = []
  while (apps.length < count) apps.push(await world.server.createClient())
  return apps
}

describe('the first access of an app', () => {
  test('is mailed, in the language of the page, with the page that ends it', async () => {
    const client = await world.server.createClient({ name: 'Print Shop', branding: { publisher: 'Acme' } })
    const browser = await signedInBrowser(world.server, world.username)
    const headers = { 'accept-language': 'de', 'user-agent': FIREFOX }
    const page = await browser.open(authorizeUrl(client.clientId), headers)
    await browser.submitOnly(page, { decision: 'allow' }, headers)
    const [mail] = await world.received(1)
    expect(mail?.to).toEqual([world.address])
    expect(mail?.content).toMatch(/^Subject: Eine App hat Zugriff auf Ihr Konto bei Valetkey\r$/m)
    expect(mail?.content).toMatch(/^Content-Language: de\r$/m)
    for (const part of [world.username, 'Print Shop', 'Acme', new URL(AUDIENCE).host, 'Firefox, Linux']) {
      expect(mail?.content).toContain(part)
    }
    expect(mail?.content).toContain(endUrlOf(client))
    await exchange(world.server, client, await obtainCode(world.server, client, { browser }))
    const asking = await browser.open(endUrlOf(client))
    expect([asking.statusCode, asking.url]).toEqual([200, endUrlOf(client)])
    expect((await browser.open(endUrlOf(client))).body).toContain('Print Shop')
    const ended = await browser.submit(asking, {})
    expect(ended.url).toBe(`${ISSUER}/account/apps?done=ended&client_id=${client.clientId}`)
    expect(ended.body).toContain('No app has access to your account.')
  })

  test('is mailed once: another Allow notes nothing, also from another session and after the exchange', async () => {
    const client = await world.server.createClient()
    await exchange(world.server, client, await world.allow(client))
    await world.received(1)
    await world.settled()
    await exchange(world.server, client, await world.allow(client))
    await world.allow(client, await signedInBrowser(world.server, world.username))
    expect(await world.queued()).toMatchObject({ notices: [], omitted: 0, isWaiting: false })
  })

  test('is mailed for each API', async () => {
    await world.server.createResourceServer('https://notes.example', { title: 'Notes' })
    const client = await world.server.createClient()
    await world.holdMails()
    await world.allow(client)
    await world.execute(`update told_accesses set audience = 'https://notes.example' where user_id = $1`, world.userId)
    await world.allow(client)
    expect((await world.queued())?.notices).toHaveLength(2)
  })

  test('is mailed again after its end', async () => {
    const client = await world.server.createClient()
    const browser = await signedInBrowser(world.server, world.username)
    await exchange(world.server, client, await world.allow(client, browser))
    await world.received(1)
    await world.settled()
    await browser.submit(await browser.open(endUrlOf(client)), {})
    await world.allow(client, browser)
    await world.makeDue()
    await world.sendDue()
    expect(changesIn(await world.received(2))).toBe(2)
  })

  test('with a remembered consent is mailed once', async () => {
    const client = await world.server.createClient({ consent: 'remember' })
    await world.allow(client)
    await world.received(1)
    await world.settled()
    const browser = await signedInBrowser(world.server, world.username)
    expect((await browser.open(authorizeUrl(client.clientId))).headers.location).toContain('code=')
    expect(await world.queued()).toMatchObject({ notices: [], isWaiting: false })
  })

  test('of a user without an address leaves no row', async () => {
    await world.execute('update users set email = null where user_id = $1', world.userId)
    await world.allow(await world.server.createClient())
    expect(await world.queued()).toBeUndefined()
    expect(await world.execute('select from told_accesses where user_id = $1', world.userId)).toEqual([])
  })

  test('is not mailed if the user denies', async () => {
    const client = await world.server.createClient()
    const browser = await signedInBrowser(world.server, world.username)
    await browser.submitOnly(await browser.open(authorizeUrl(client.clientId)), { decision: 'deny' })
    expect(await world.queued()).toBeUndefined()
  })
})

test('an access that cannot be noted is not allowed: no code is issued, and the user can press Allow again', async () => {
  let isAway = true
  const wrap = (database: Database): Database => ({
    ...database,
    query: (statement) =>
      isAway && statement.name === 'note_new_access'
        ? Promise.reject(new StoreUnavailable('postgres', new Error('away')))
        : database.query(statement)
  })
  const instance = await startInstance(world.server, { wrap })
  const client = await world.server.createClient({ consent: 'remember' })
  const { cookies } = await signedInBrowser(world.server, world.username)
  const browser = new Browser(instance.publicServer, ISSUER, cookies)
  const page = await browser.open(authorizeUrl(client.clientId))
  const refused = await browser.submitOnly(page, { decision: 'allow' })
  expect([refused.statusCode, refused.headers.location]).toEqual([503, undefined])
  expect(await world.execute('select from consents where user_id = $1', world.userId)).toEqual([])
  isAway = false
  const allowed = await browser.submitOnly(page, { decision: 'allow' })
  expect(allowed.headers.location).toContain('code=')
  await world.received(1)
  await instance.close()
})

describe('SECURITY_MAILS=off', () => {
  const off = () =>
    startInstance(world.server, {
      config: { signIn: { ...world.server.config.signIn, securityMails: 'off' } }
    })

  test.each(['ask', 'remember'] as const)(
    'notes nothing, and an access from that time is not told later (consent: %s)',
    async (consent) => {
      const instance = await off()
      const client = await world.server.createClient({ consent })
      const elsewhere = new Browser(instance.publicServer, ISSUER)
      const code = await obtainCode(instance, client, { username: world.username, browser: elsewhere })
      if (consent === 'ask') await exchange(instance, client, code)
      expect(instance.deps.consent.beforeAllow).toBeUndefined()
      await instance.close()
      expect(await world.queued()).toBeUndefined()
      const browser = await signedInBrowser(world.server, world.username)
      const page = await browser.open(authorizeUrl(client.clientId, { prompt: 'consent' }))
      await browser.submitOnly(page, { decision: 'allow' })
      expect(await world.execute('select from told_accesses where user_id = $1', world.userId)).toHaveLength(1)
      expect(await world.queued()).toBeUndefined()
    }
  )
})

describe('a mail server', () => {
  test('that does not answer delays no Allow, and gets the mail later', async () => {
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    let asked = 0
    world.take = () => {
      asked += 1
      return held
    }
    const [first, second] = (await newApps(2)) as [Credentials, Credentials]
    expect(await world.allow(first)).toMatch(/^vk_/)
    await until(async () => asked === 1)
    expect(await world.allow(second)).toMatch(/^vk_/)
    expect(world.mails()).toEqual([])
    answer()
    expect(changesIn(await world.received(1))).toBe(1)
    // The second Allow came while the first mail was on its way.
    await until(async () => (await world.queued())?.notices.length === 1)
    await world.makeDue()
    await world.sendDue()
    expect(changesIn(await world.received(2))).toBe(2)
  })

  test('that refuses the mail fails no Allow, and gets it at the next attempt', async () => {
    world.take = async () => {
      throw new Error('not now')
    }
    await world.allow(await world.server.createClient())
    await until(async () => (await world.queued())?.failures === 1)
    expect(await world.queued()).toMatchObject({ isWaiting: true, notices: [{ kind: 'access' }] })
    world.take = async () => {}
    await world.sendDue()
    expect(world.mails()).toEqual([])
    await world.makeDue()
    await world.sendDue()
    expect(changesIn(world.mails())).toBe(1)
    expect(await world.queued()).toMatchObject({ isWaiting: false, failures: 0 })
  })
})

describe('many changes', () => {
  test('100 first accesses at once are in few mails, none is lost, and each mail names 20 at most', async () => {
    const apps = await newApps(100)
    const browser = await signedInBrowser(world.server, world.username)
    const codes = await Promise.all(apps.map((client) => world.allow(client, browser)))
    expect(new Set(codes).size).toBe(100)
    await world.received(1)
    await until(async () => {
      await world.makeDue()
      await world.sendDue()
      return (await world.queued())?.isWaiting === false
    })
    const mails = world.mails()
    expect(changesIn(mails)).toBe(100)
    expect(mails.length).toBeLessThanOrEqual(5)
    for (const { content } of mails) expect(content.split('/account/apps/end?').length - 1).toBeLessThanOrEqual(20)
  })

  test('a user gets no second mail within a minute, and the next one has all changes since', async () => {
    await world.allow(await world.server.createClient())
    await world.received(1)
    await world.settled()
    for (const client of await newApps(3)) await world.allow(client)
    await world.sendDue()
    const [row] = await world.execute<{ later: boolean }>(
      `select next_mail_at > now() + interval '30 seconds' as later from security_mails where user_id = $1`,
      world.userId
    )
    expect([world.mails().length, row?.later, (await world.queued())?.notices.length]).toEqual([1, true, 3])
    await world.makeDue()
    await world.sendDue()
    expect([world.mails().length, changesIn(world.mails())]).toEqual([2, 4])
  })
})
