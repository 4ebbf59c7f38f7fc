import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { APPS, newApp, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'

const clock = stopClock()
let server: TestServer
let alice: Browser
let url: string
let clientId: string

const run = (text: string) => server.database.query({ name: '', text, values: [] })

beforeAll(async () => {
  server = await startDeveloperServer()
})
beforeEach(async () => {
  await run('delete from users')
  await run(`delete from clients where origin = 'developer'`)
  await Promise.all(['alice', 'bob'].map((name) => server.createUser(name, PASSWORD)))
  alice = await signedInBrowser(server)
  ;({ url, clientId } = await newApp(server, alice))
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const textOf = async (browser: Browser, address: string) => visibleText((await browser.open(address)).body)
const decideInvitation = async (browser: Browser, answer: 'accept' | 'decline') =>
  browser.submit(fromForm(await browser.open(APPS), '/account/developer/invitations'), { answer })

describe('owners', () => {
  test('an invited user becomes an owner when they accept, and can be removed', async () => {
    const bob = await signedInBrowser(server, 'bob')
    expect((await sendForm(alice, url, 'owners', { username: 'bob' })).url).toBe(`${url}?done=invited`)
    expect((await bob.get(url)).statusCode).toBe(404)
    expect(await textOf(bob, APPS)).toMatch(/alice.*invites you to become an owner of.*Wind Chimes/s)
    expect((await decideInvitation(bob, 'accept')).url).toBe(`${APPS}?done=accepted`)
    expect(await textOf(bob, url)).toContain('Wind Chimes')
    const removed = await sendForm(alice, url, 'owners/remove', { user_id: await idOf('bob') })
    expect(removed.url).toBe(`${url}?done=removed`)
    expect((await bob.get(url)).statusCode).toBe(404)
  })

  test('a transferred app leaves its former owner', async () => {
    const bob = await signedInBrowser(server, 'bob')
    await sendForm(alice, url, 'owners', { username: 'bob', transfers: 'on' })
    expect(await textOf(alice, url)).toContain('invited to take over')
    expect(await textOf(bob, APPS)).toMatch(/alice.*wants to transfer/s)
    await decideInvitation(bob, 'accept')
    expect([(await alice.get(url)).statusCode, (await bob.get(url)).statusCode]).toEqual([404, 200])
  })

  test('a declined or withdrawn invitation makes no owner', async () => {
    const bob = await signedInBrowser(server, 'bob')
    await sendForm(alice, url, 'owners', { username: 'bob' })
    const list = fromForm(await bob.open(APPS), '/account/developer/invitations')
    await sendForm(alice, url, 'owners/withdraw')
    expect((await bob.submit(list, { answer: 'accept' })).url).toBe(APPS)
    await sendForm(alice, url, 'owners', { username: 'bob' })
    await decideInvitation(bob, 'decline')
    expect((await bob.get(url)).statusCode).toBe(404)
  })

  test('an owner can leave, but not the last one', async () => {
    const bob = await signedInBrowser(server, 'bob')
    expect((await alice.open(url)).body).not.toContain('owners/remove')
    await sendForm(alice, url, 'owners', { username: 'bob' })
    await decideInvitation(bob, 'accept')
    const form = fromForm(await alice.open(url), `${new URL(url).pathname}/owners/remove`)
    await sendForm(bob, url, 'owners/remove', { user_id: await idOf('bob') })
    const refused = await alice.submit(form, { user_id: await idOf('alice') })
    expect([refused.statusCode, visibleText(refused.body)]).toEqual([422, expect.stringContaining('The last owner')])
  })

  test('needs a fresh sign-in', async () => {
    const form = fromForm(await alice.open(url), `${new URL(url).pathname}/owners`)
    clock.advance(360)
    const answer = await alice.submitOnly(form, { username: 'bob' })
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
  })
})

describe.each([
  { people: 'owners', done: 'invited' },
  { people: 'testers', done: 'added' }
])('$people', ({ people, done }) => {
  test('the response is the same for a user who exists and for one who does not', async () => {
    const answers = []
    for (const username of ['bob', 'unknown-user']) {
      const { url: ownUrl } = await newApp(server, alice, { name: `App for ${username}` })
      const answer = await sendForm(alice, ownUrl, people, { username })
      expect(answer.url).toBe(`${ownUrl}?done=${done}`)
      const text = visibleText(answer.body).replaceAll(username, 'USER')
      answers.push(text.replace(/client_id=\S+/, '').replace(/[\w-]{20,}|\b[0-9a-f]{12}\b/g, 'ID'))
    }
    expect(answers[0]).toBe(answers[1])
  })

  test('a malformed name: 422, and the input is kept', async () => {
    const typed = 'x'.repeat(101)
    const answer = await sendForm(alice, url, people, { username: typed })
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('not a user name')])
    expect(answer.body).toContain(`value="${typed}" aria-describedby`)
  })

  test('HTML in a name is shown as text', async () => {
    await sendForm(alice, url, people, { username: '<img src=x>"' })
    expect((await alice.open(url)).body).not.toContain('<img src=x')
  })
})

test('a test user is listed and can be removed', async () => {
  await sendForm(alice, url, 'testers', { username: 'bob' })
  expect(await textOf(alice, url)).toContain('bob')
  expect((await sendForm(alice, url, 'testers/remove')).url).toBe(`${url}?done=removed`)
  expect(await textOf(alice, url)).not.toContain('bob')
})

async function idOf(username: string): Promise<string> {
  const text = 'select user_id from users where username = $1'
  const rows = await server.database.query<{ user_id: string }>({ name: '', text, values: [username] })
  return rows[0]?.user_id ?? ''
}
