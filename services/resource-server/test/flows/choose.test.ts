import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { namesOn, openChooseApp, RETURN_TO } from '../support/choose-app.js'
import { filesIn, select } from '../support/selections.js'

let app: Awaited<ReturnType<typeof openChooseApp>>
beforeAll(async () => {
  app = await openChooseApp()
})
afterAll(() => app.close())

/** A user with these files, and a browser with the page. */
async function choosing(names: readonly string[], kind = 'documents', members: object = {}) {
  const sub = randomUUID()
  const ids = await app.save(sub, names, kind)
  const handOver = app.handOver({ sub, ...members })
  return { sub, ids, handOver, browser: await app.open(handOver) }
}

const selectionsOf = async (ownerId: string) => {
  const rows = await app.database.query<{ selection_id: string }>({
    name: 'selections_of',
    text: 'select selection_id from selections where owner_id = $1 and not is_draft',
    values: [ownerId]
  })
  return rows.map(({ selection_id }) => selection_id)
}

test('a user opens the page, ticks two of three files, and the authorization server gets the selection', async () => {
  const { sub, ids, handOver, browser } = await choosing(['/a.txt', '/b.txt', '/c.txt'])
  const page = await browser.get()
  expect(page.status).toBe(200)
  expect(page.html).toContain('Choose files for <bdi>Sunny Prints</bdi>')
  expect(namesOn(page.html)).toEqual({ all: ['a.txt', 'b.txt', 'c.txt'], ticked: [] })
  const done = await browser.submit(page, { do: 'done', file: ids.slice(1) })
  expect(done).toMatchObject({ status: 303, headers: { location: RETURN_TO } })
  const [selectionId = ''] = await selectionsOf(sub)
  expect(app.endpoints.finished.at(-1)).toEqual({
    handover: handOver,
    type: 'files',
    identifier: selectionId,
    summary: '2 documents'
  })
  expect(app.endpoints.seen.at(-1)).toBe(`Basic ${Buffer.from('files:rs+secret').toString('base64')}`)
  expect(await filesIn(app.database, selectionId)).toEqual(ids.slice(1).toSorted())
})

test('the redirect has a cookie for this draft only', async () => {
  const { browser } = await choosing([])
  const { status, headers } = browser.redirect
  expect([status, headers['cache-control']]).toEqual([303, 'no-store'])
  expect(browser.address).toMatch(/^https:\/\/files\.example\/choose\/[0-9a-f-]{36}$/)
  const path = new URL(browser.address).pathname
  expect(headers['set-cookie']).toMatch(
    new RegExp(`^valetkey_choice=[^;]+; Path=${path}; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$`)
  )
})

test('every page has strict headers, and none is open to other origins', async () => {
  const { browser } = await choosing(['/a.txt'])
  for (const { headers } of [await browser.get(), await app.send('GET', '/choose?handover=x', {})]) {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self' https://auth.example; base-uri 'none'; frame-ancestors 'none'",
      'referrer-policy': 'same-origin',
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY'
    })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
  }
})

test.each(['opened before', 'unknown', 'malformed', 'missing'])('a hand-over that is %s: 410', async (kind) => {
  const { handOver } = await choosing(['/a.txt'])
  const other = { unknown: 'u'.repeat(43), malformed: "'--", missing: '' }[kind]
  const page = await app.send('GET', `/choose?handover=${encodeURIComponent(other ?? handOver)}`, {})
  expect(page.status).toBe(410)
  expect(page.html).toContain('This page was opened already')
  expect(page.headers).not.toHaveProperty('set-cookie')
})

test('HEAD starts no hand-over', async () => {
  const handOver = app.handOver({ sub: randomUUID() })
  const head = await app.publicServer.inject({ method: 'HEAD', url: `/choose?handover=${handOver}` })
  expect(head.statusCode).toBe(405)
  expect((await app.open(handOver)).redirect.status).toBe(303)
})

test('a draft without its cookie, and with that of another draft: 410', async () => {
  const { browser } = await choosing(['/a.txt'])
  const other = await choosing(['/b.txt'])
  for (const cookie of ['', 'valetkey_choice=x', other.browser.cookie, `${browser.cookie}x`]) {
    const page = await app.send('GET', browser.address, { cookie })
    expect(page.status).toBe(410)
    expect(page.html).toContain('This page has expired')
    expect(page.html).not.toContain('a.txt')
  }
})

test.each([
  { name: 'of another site', change: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } },
  { name: 'of a sibling site', change: { 'sec-fetch-site': 'same-site' } },
  { name: 'without the hidden field', fields: { csrf_token: '' } },
  { name: 'with the hidden field of another draft', fields: { csrf_token: 'x'.repeat(43) } }
])('a form $name: 403, and nothing changes', async ({ change = {}, fields = {} }) => {
  const { ids, browser } = await choosing(['/a.txt'])
  const form = { do: 'older', file: ids, ...fields } as Record<string, string | string[]>
  const refused = await browser.submit(await browser.get(), form, change as Record<string, string>)
  expect(refused.status).toBe(403)
  expect(namesOn((await browser.get()).html).ticked).toEqual([])
})

test('files of another user and made-up ids are not added', async () => {
  const other = await choosing(['/secret.txt'])
  const { sub, ids, browser } = await choosing(['/a.txt'])
  const page = await browser.get()
  await browser.submit(page, { do: 'done', file: [...ids, ...other.ids, randomUUID(), "' or true"] })
  const [selectionId = ''] = await selectionsOf(sub)
  expect(await filesIn(app.database, selectionId)).toEqual(ids)
})

const many = Array.from({ length: 120 }, (_, index) => `/f${index}.txt`)

test('ticks of several pages of 50 add up, in both directions, without scripts', async () => {
  const { sub, ids, browser } = await choosing(many)
  const first = await browser.get()
  expect(namesOn(first.html).all).toEqual(many.slice(0, 50).map((name) => name.slice(1)))
  const toSecond = await browser.submit(first, { do: 'older', file: ids.slice(0, 2) })
  const second = await browser.get(new URL(String(toSecond.headers.location)).search)
  expect(namesOn(second.html).all).toEqual(many.slice(50, 100).map((name) => name.slice(1)))
  expect(second.html).toContain('Chosen: <strong>2</strong>')
  const toThird = await browser.submit(second, { do: 'older', file: ids[60] ?? '' })
  const third = await browser.get(new URL(String(toThird.headers.location)).search)
  expect(namesOn(third.html).all).toHaveLength(20)
  expect(third.html).not.toContain('value="older"')
  const backToSecond = await browser.submit(third, { do: 'newer', file: ids[110] ?? '' })
  const again = await browser.get(new URL(String(backToSecond.headers.location)).search)
  expect(namesOn(again.html)).toEqual({ all: namesOn(second.html).all, ticked: ['f60.txt'] })
  const backToFirst = await browser.submit(again, { do: 'newer' })
  const start = await browser.get(new URL(String(backToFirst.headers.location)).search)
  expect(namesOn(start.html)).toEqual({ all: namesOn(first.html).all, ticked: ['f0.txt', 'f1.txt'] })
  expect(start.html).not.toContain('value="newer"')
  await browser.submit(start, { do: 'done', file: ids[0] ?? '' })
  const [selectionId = ''] = await selectionsOf(sub)
  expect(await filesIn(app.database, selectionId)).toEqual([0, 60, 110].map((place) => ids[place]).toSorted())
})

test('a search finds parts of names in any case, and stores the ticks of the page before', async () => {
  const { ids, browser } = await choosing(['/Invoice 2026.txt', '/photo.txt', '/100%_sure.txt', '/Ku\u0308ste.jpg'])
  const toFound = await browser.submit(await browser.get(), { do: 'search', q: ' iNVoice ', file: ids[1] ?? '' })
  const found = await browser.get(new URL(String(toFound.headers.location)).search)
  expect(namesOn(found.html).all).toEqual(['Invoice 2026.txt'])
  expect(found.html).toContain('Chosen: <strong>1</strong>')
  for (const [search, names] of [
    ['%', ['100%_sure.txt']],
    ['\\', []],
    ['KÜSTE', ['Ku\u0308ste.jpg']],
    ['nothing', []]
  ] as const) {
    expect(namesOn((await browser.get(`?q=${encodeURIComponent(search)}`)).html).all).toEqual(names)
  }
})

test('a folder includes the folders below it, and all of it can be selected', async () => {
  const paths = ['/Photos/a.txt', '/Photos/2026/b.txt', '/Photos 2/c.txt', '/d.txt']
  const { ids, browser } = await choosing(paths)
  const first = await browser.get()
  expect(first.html.match(/<option value="[^"]*"/g)).toEqual(
    ['', 'Photos', 'Photos 2', 'Photos/2026'].map((folder) => `<option value="${folder}"`)
  )
  const toFolder = await browser.submit(first, { do: 'search', folder: 'Photos' })
  const folder = await browser.get(new URL(String(toFolder.headers.location)).search)
  expect(namesOn(folder.html).all).toEqual(['a.txt', 'b.txt'])
  expect(folder.html).toContain('Files that come into a folder later are not included.')
  await browser.submit(folder, { do: 'all_found', folder: 'Photos' })
  expect(namesOn((await browser.get()).html).ticked).toEqual(['a.txt', 'b.txt'])
  expect(ids).toHaveLength(4)
})

test('all of a page can be ticked and cleared without scripts, and only chosen files shown', async () => {
  const { browser } = await choosing(many.slice(0, 60))
  const page = await browser.get()
  await browser.submit(page, { do: 'all_on_page' })
  expect(namesOn((await browser.get()).html).ticked).toHaveLength(50)
  const chosen = await browser.get('?chosen=1')
  expect(namesOn(chosen.html).all).toHaveLength(50)
  await browser.submit(await browser.get(), { do: 'none_on_page' })
  expect((await browser.get('?chosen=1')).html).toContain('Nothing chosen yet.')
})

test('at most 1,000 files can be chosen, and the page says so', async () => {
  const { browser } = await choosing(Array.from({ length: 1_003 }, (_, index) => `/all/${index}.txt`))
  const page = await browser.get('?folder=all')
  const full = await browser.submit(page, { do: 'all_found', folder: 'all' })
  const shown = await browser.get(new URL(String(full.headers.location)).search)
  expect(shown.html).toContain('You can choose at most 1,000 files.')
  expect(shown.html).toContain('Chosen: <strong>1,000</strong>')
})

test('nothing chosen: the page says so, and nothing is reported', async () => {
  const { sub, browser } = await choosing(['/a.txt'])
  const before = app.endpoints.finished.length
  const none = await browser.submit(await browser.get(), { do: 'done' })
  const page = await browser.get(new URL(String(none.headers.location)).search)
  expect(page.html).toContain('Nothing is chosen.')
  expect(app.endpoints.finished).toHaveLength(before)
  expect(await selectionsOf(sub)).toEqual([])
})

test('cancel: back to the authorization server, without a selection', async () => {
  const { sub, ids, browser } = await choosing(['/a.txt'])
  const cancelled = await browser.submit(await browser.get(), { do: 'cancel', file: ids })
  expect(cancelled).toMatchObject({ status: 303, headers: { location: RETURN_TO } })
  expect(await selectionsOf(sub)).toEqual([])
})

test('done twice: two selections, and the first one stays as it was', async () => {
  const { sub, ids, browser } = await choosing(['/a.txt', '/b.txt'])
  await browser.submit(await browser.get(), { do: 'done', file: ids })
  await browser.submit(await browser.get(), { do: 'done', file: ids.slice(1) })
  const contents = await Promise.all((await selectionsOf(sub)).map((id) => filesIn(app.database, id)))
  expect(contents.map(({ length }) => length).toSorted()).toEqual([1, 2])
})

test('a second choice for the same request starts with the first, and no other request or user does', async () => {
  const { sub, ids, browser } = await choosing(['/a.txt', '/b.txt'])
  const done = await browser.submit(await browser.get(), { do: 'done', file: ids.slice(1) })
  const set = String(done.headers['set-cookie'])
  expect(set).toMatch(/^valetkey_last_choice=[^;]+; Path=\/choose; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/)
  const cookie = set.split(';', 1)[0] ?? ''
  const ticked = async (members: { sub: string; return_to?: string }, cookies = cookie) =>
    namesOn((await (await app.open(app.handOver(members), cookies)).get()).html).ticked
  expect(await ticked({ sub })).toEqual(['b.txt'])
  expect(await ticked({ sub, return_to: 'https://auth.example/consent?resume=2' })).toEqual([])
  expect(await ticked({ sub }, browser.cookie.replace('valetkey_choice', 'valetkey_last_choice'))).toEqual([])
  const other = randomUUID()
  await app.save(other, ['/b.txt'])
  expect(await ticked({ sub: other })).toEqual([])
})

test('a request that was decided meanwhile: 410 with a way back, and its selection is deleted', async () => {
  const { sub, ids, handOver, browser } = await choosing(['/a.txt'])
  app.endpoints.decide(handOver)
  const ended = await browser.submit(await browser.get(), { do: 'done', file: ids })
  expect(ended.status).toBe(410)
  expect(ended.html).toContain('This request has ended')
  expect(ended.html).toContain(`href="${RETURN_TO.replace('=', '&#x3D;')}"`)
  expect(await selectionsOf(sub)).toEqual([])
})

test('a change starts with the present files, and replaces them under the same id', async () => {
  const sub = randomUUID()
  const ids = await app.save(sub, ['/a.txt', '/b.txt', '/c.txt'])
  const selectionId = await select(app.database, sub, ids.slice(0, 2))
  const handOver = app.handOver({ sub, identifier: selectionId, return_to: 'https://auth.example/account/apps' })
  const browser = await app.open(handOver)
  const page = await browser.get()
  expect(page.html).toContain('Change the files of <bdi>Sunny Prints</bdi>')
  expect(namesOn(page.html).ticked).toEqual(['a.txt', 'b.txt'])
  const done = await browser.submit(page, { do: 'done', file: ids.slice(2) })
  expect(done.headers.location).toBe('https://auth.example/account/apps')
  expect(app.endpoints.finished.at(-1)).toMatchObject({ identifier: selectionId, summary: '1 document' })
  expect(await filesIn(app.database, selectionId)).toEqual(ids.slice(2))
})

test.each([
  { name: 'away', by: (response: { destroy(): void }) => response.destroy() },
  {
    name: 'failing',
    by: (response: { statusCode: number; end(text: string): void }) =>
      Object.assign(response, { statusCode: 500 }).end('')
  },
  {
    name: 'refusing the credential',
    by: (response: { statusCode: number; end(text: string): void }) =>
      Object.assign(response, { statusCode: 401 }).end('{}')
  }
])('the authorization server $name: 503, nothing is lost, and the same again works', async ({ by }) => {
  const { ids, browser } = await choosing(['/a.txt'])
  const page = await browser.get()
  app.endpoints.fail(by as never)
  const failed = await browser.submit(page, { do: 'done', file: ids })
  expect(failed).toMatchObject({ status: 503, headers: { 'retry-after': '2' } })
  const handOver = app.handOver({ sub: randomUUID() })
  const closed = await app.send('GET', `/choose?handover=${handOver}`, {})
  expect(closed.status).toBe(503)
  expect(closed.html).toContain(`href="https://files.example/choose?handover&#x3D;${handOver}"`)
  app.endpoints.fail(undefined)
  expect((await app.open(handOver)).redirect.status).toBe(303)
  const again = await browser.submit(failed, { do: 'done' })
  expect(again).toMatchObject({ status: 303, headers: { location: RETURN_TO } })
})

test('an address of another server is never followed', async () => {
  const handOver = app.handOver({ sub: randomUUID(), return_to: 'https://evil.example/' })
  expect((await app.send('GET', `/choose?handover=${handOver}`, {})).status).toBe(503)
})

test.each([
  { language: 'de', direction: 'ltr', title: 'Dateien für <bdi>Sunny Prints</bdi> auswählen', summary: '3 Fotos' },
  { language: 'de-AT', direction: 'ltr', title: 'Dateien für <bdi>Sunny Prints</bdi> auswählen', summary: '3 Fotos' },
  { language: 'ar', direction: 'rtl', title: 'اختيار ملفات لتطبيق <bdi>Sunny Prints</bdi>', summary: '3 صور' },
  { language: 'fr', direction: 'ltr', title: 'Choose files for <bdi>Sunny Prints</bdi>', summary: '3 photos' }
])('the language of the hand-over: $language', async ({ language, direction, title, summary }) => {
  const { ids, browser } = await choosing(['/a.png', '/b.png', '/c.png'], 'images', { language })
  const page = await browser.get()
  expect(page.html).toContain(title)
  expect(page.html).toContain(`dir="${direction}"`)
  await browser.submit(page, { do: 'done', file: ids })
  expect(app.endpoints.finished.at(-1)?.summary).toBe(summary)
})

test('names of files and apps are text, not markup', async () => {
  const { browser } = await choosing(['/<b>"&.txt'], 'documents', { client_name: '<i>App</i>' })
  const { html } = await browser.get(`?q=${encodeURIComponent('<b>"')}`)
  expect(html).toContain('&lt;b&gt;&quot;&amp;.txt')
  expect(html).toContain('&lt;i&gt;App&lt;/i&gt;')
  expect(html).not.toMatch(/<b>|<i>/)
})

test('a file that is deleted while the page is open is left out', async () => {
  const { sub, ids, browser } = await choosing(['/a.txt', '/b.txt'])
  const page = await browser.get()
  await app.database.query({ name: 'gone', text: 'delete from files where file_id = $1', values: [ids[0]] })
  await browser.submit(page, { do: 'done', file: ids })
  const [selectionId = ''] = await selectionsOf(sub)
  expect(await filesIn(app.database, selectionId)).toEqual(ids.slice(1))
})
