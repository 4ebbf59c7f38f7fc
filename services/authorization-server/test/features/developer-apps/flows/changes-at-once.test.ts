import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { TestServer } from '../../../support/authorization-server.js'
import { Browser } from '../../../support/browser.js'
import { newApp, sendNewApp, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'

let server: TestServer
let alice: Browser

beforeAll(async () => {
  server = await startDeveloperServer()
  await server.createUser('alice', PASSWORD)
  alice = await signedInBrowser(server)
})
afterAll(() => server.close())

const countOf = (values: readonly string[], part: string) => values.filter((value) => value.includes(part)).length

test('40 test users added at once, at two instances: 25 are added, the others are told that there are too many', async () => {
  const other = await startInstance(server)
  const { url } = await newApp(server, alice)
  const form = fromForm(await alice.open(url), `${new URL(url).pathname}/testers`)
  const elsewhere = new Browser(other.publicServer, server.config.issuer)
  for (const [name, value] of alice.cookies) elsewhere.cookies.set(name, value)
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? alice : elsewhere).submitOnly(form, { username: `tester-${index}` })
    )
  )
  const results = answers.map(({ statusCode, headers }) => `${statusCode} ${headers.location ?? ''}`)
  expect([countOf(results, '303'), countOf(results, 'done=added'), countOf(results, '422')]).toEqual([25, 25, 15])
  await other.close()
})

test('12 apps registered at once: 9 more of the day, and no form leads to sign-in', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      sendNewApp(server, alice, { name: `Bell number ${'abcdefghijkl'[index]}` })
    )
  )
  const statuses = answers.map(({ statusCode }) => statusCode)
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 422).length
  ]).toEqual([9, 3])
})
