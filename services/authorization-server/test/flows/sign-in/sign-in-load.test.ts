import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { hash as hashBcrypt } from '@node-rs/bcrypt'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

const storedHash = async (): Promise<string> => {
  const text = `select password_hash from users where username = 'alice'`
  const rows = await server.database.query<{ password_hash: string }>({ name: 'test_hash', text, values: [] })
  return rows[0]?.password_hash ?? ''
}

const setHash = async (passwordHash: string): Promise<void> => {
  const text = `update users set password_hash = $1 where username = 'alice'`
  await server.database.query({ name: 'test_set_hash', text, values: [passwordHash] })
}

test('a full password queue is 503 with Retry-After, counts no failure, and accepts the next sign-in', async () => {
  const { signIn } = server.deps.login
  const browser = server.newBrowser()
  const page = await browser.open(`${ISSUER}/login`)
  const spacious = signIn.passwordQueue
  const full = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
  signIn.passwordQueue = full
  const counters = await server.redis.keys('*sign-in*')
  const refused = await browser.submitOnly(page, { username: 'alice', password: PASSWORD })
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '5'])
  expect(visibleText(refused.body)).toContain('The queue is full, so your password was not checked.')
  expect(await server.redis.keys('*sign-in*')).toEqual(counters)
  signIn.passwordQueue = spacious
  expect((await browser.submit(page, { username: 'alice', password: PASSWORD })).url).toBe(`${ISSUER}/account/apps`)
})

test('an imported bcrypt hash waits in the same queue: while it is full, 503, and the hash stays', async () => {
  const imported = await hashBcrypt(PASSWORD, { cost: 4 })
  await setHash(imported)
  const { signIn } = server.deps.login
  const spacious = signIn.passwordQueue
  signIn.passwordQueue = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
  const attempt = { username: 'alice', password: PASSWORD }
  expect((await attemptSignIn(server, attempt)).statusCode).toBe(503)
  signIn.passwordQueue = spacious
  expect(await storedHash()).toBe(imported)
  expect((await attemptSignIn(server, attempt)).statusCode).toBe(303)
  expect(await storedHash()).toMatch(/^\$argon2id/)
})

test('a hash with older parameters is replaced at the next successful sign-in', async () => {
  const older = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
  await setHash(older)
  const browser = server.newBrowser()
  const page = await browser.open(`${ISSUER}/login`)
  await browser.submitOnly(page, { username: 'alice', password: 'wrong' })
  expect(await storedHash()).toBe(older)
  await signedInBrowser(server)
  const renewed = await storedHash()
  expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  await signedInBrowser(server)
  expect(await storedHash()).toBe(renewed)
})

test('a full password queue during the renewal: the sign-in succeeds, and the hash is not replaced', async () => {
  const older = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
  await setHash(older)
  const { signIn } = server.deps.login
  const spacious = signIn.passwordQueue
  const [once, full] = [
    createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 1, milliseconds: 10_000 }),
    createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 0, milliseconds: 10_000 })
  ]
  let uses = 0
  signIn.passwordQueue = { ...once, run: (hashing) => (uses++ === 0 ? once : full).run(hashing) }
  await signedInBrowser(server)
  signIn.passwordQueue = spacious
  expect(uses).toBe(2)
  expect(await storedHash()).toBe(older)
})
