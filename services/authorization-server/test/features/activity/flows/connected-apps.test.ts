import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { openEndOfAccess, signedInBrowser } from '../../../support/pages.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { newGrant, nowInSeconds, sendReport, useOf } from '../support/reports.js'

const world = serverWithUser()
let api: Credentials
let client: Credentials
let grantId: string

beforeAll(async () => {
  api = await world.server.createResourceServer()
})
beforeEach(async () => {
  await world.server.redis.flushdb()
  client = await world.server.createClient()
  grantId = await newGrant(world.server, { username: world.username, client, api })
})

async function page(language = 'en'): Promise<string> {
  const browser = await signedInBrowser(world.server, world.username)
  const opened = await browser.open(`${ISSUER}/account/apps`, { 'accept-language': language })
  return wordsOf(opened.body)
}

const wordsOf = (body: string) => body.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
const report = (count: number, secondsAgo = 0, grant = grantId) =>
  sendReport(world.server, api, [useOf(grant, { count, last_at: nowInSeconds() - secondsAgo })])
const atDay = (day: string, items: number) =>
  world.server.database.query({
    name: 'test_earlier_use',
    text: `with aged as (update clients set created_at = '2000-01-01' where client_id = $2)
      insert into app_uses (user_id, client_id, api_id, action, day, items, last_at)
      select $1, $2, api_id, 'list_files', $3::date, $4, $3::date from api_actions where audience is null`,
    values: [world.userId, client.clientId, day, items]
  })

describe('what an app did, on the page of connected apps', () => {
  test('is not there before a report', async () => {
    expect(await page()).not.toContain('What it did')
  })

  test('is the last use in the list, and the numbers of days in the details', async () => {
    const day = new Date(Date.now() - 40 * 86_400_000)
    await atDay(day.toISOString().slice(0, 10), 1_200)
    await report(214, 720)
    const shown = await page()
    expect(shown).toContain('Listed files · 12 minutes ago')
    expect(shown).toContain('What it did Listed files Most recently 12 minutes ago 214 on ')
    const written = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(day)
    expect(shown).toContain(`1,200 on ${written} 1,414 in the last 90 days Each day begins at midnight UTC.`)
  })

  test('is in the language of the page', async () => {
    await report(3, 120)
    expect(await page('de')).toContain('Dateien aufgelistet · vor 2 Minuten')
    expect(await page('ar')).toContain('سرد الملفات')
  })

  test('without files has the time only', async () => {
    await report(0, 60)
    const shown = await page()
    expect(shown).toContain('Listed files Most recently 1 minute ago Each day begins')
    expect(shown).not.toContain('0 on')
  })

  test('sums the uses of all grants of the app, including ended grants', async () => {
    await report(1)
    const second = await newGrant(world.server, { username: world.username, client, api })
    await report(2, 0, second)
    await runCommand(world.server.database, ['grants', 'revoke', grantId, '--yes'])
    expect(await page()).toMatch(/Most recently 1 minute ago 3 on/)
  })

  test('is not shown to another user, nor beside another app', async () => {
    await report(777)
    const other = await world.server.createClient({ name: 'Other' })
    await newGrant(world.server, { username: world.username, client: other, api })
    expect(await page()).toMatch(/^(?!.*777 on.*777 on).*777 on/)
    await world.server.createUser('stranger', 'correct horse battery staple')
    await newGrant(world.server, { username: 'stranger', client, api })
    const browser = await signedInBrowser(world.server, 'stranger')
    expect((await browser.open(`${ISSUER}/account/apps`)).body).not.toContain('777')
  })

  test('is shown before the access is ended', async () => {
    await report(5)
    const browser = await signedInBrowser(world.server, world.username)
    const asking = await openEndOfAccess(browser, client.clientId)
    expect(wordsOf(asking.body)).toContain('What it did Listed files')
  })

  test('has the title that the operator declared for the default API, escaped', async () => {
    const declare = ['resource-servers', 'actions', api.clientId]
    await runCommand(world.server.database, [...declare, '--action', 'list_files=Saw <b>files</b>'])
    try {
      await report(8)
      const browser = await signedInBrowser(world.server, world.username)
      const { body } = await browser.open(`${ISSUER}/account/apps`)
      expect(body).toContain('<bdi>Saw &lt;b&gt;files&lt;/b&gt;</bdi>')
    } finally {
      await runCommand(world.server.database, [...declare, '--remove-action', 'list_files'])
    }
    expect(await page()).not.toContain('What it did')
  })
})
