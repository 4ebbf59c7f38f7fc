import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { type SignInDeps, signIn } from '../../../src/browser/login/sign-in.js'
import { isOutdated } from '../../../src/platform/passwords/password.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters } from '../../support/counters.js'
import { PASSWORD } from '../../support/flow.js'

/** Before all ids of users, and after all. */
const FIRST = '00000000-0000-0000-0000-000000000000'
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** A hash whose comparison throws, which shows that it was compared. */
const PROBE = '$probe$'
const COMPARED = 'a stored password hash has an unknown format'
const log = { info: () => {}, error: () => {} }
const audited = { id: 'test', ip: '192.0.2.1', log }

let server: TestServer
let hashings = 0

beforeAll(async () => {
  server = await startTestServer()
})
beforeEach(async () => {
  await execute('delete from users')
  await clearCounters(server)
  hashings = 0
})
afterAll(() => server.close())

const execute = (text: string) => server.database.query({ name: '', text, values: [] })

function attempt(username: string, password = 'wrong', change: Partial<SignInDeps> = {}) {
  const deps = server.deps.login
  const passwordQueue: SignInDeps['passwordQueue'] = {
    deadline: deps.passwordQueue.deadline,
    run: (hashing, turn) => {
      hashings += 1
      return deps.passwordQueue.run(hashing, turn)
    }
  }
  const client = new AbortController().signal
  const account = canonicalName(username)
  return signIn({ account, password, knownBrowser: false, client }, { ...deps, passwordQueue, ...change }, audited)
}

describe('a name that does not exist', () => {
  const decoyAt = () => FIRST

  test('is compared with the hash of another user', async () => {
    await server.createUser('decoy', PASSWORD)
    await execute(`update users set password_hash = '${PROBE}'`)
    await expect(attempt('unknown', PASSWORD, { decoyAt })).rejects.toThrow(COMPARED)
  })

  test('cannot sign in with the right password of that user', async () => {
    await server.createUser('decoy', PASSWORD)
    expect(await attempt('unknown', PASSWORD, { decoyAt })).toEqual({ kind: 'refused' })
    expect((await attempt('decoy', PASSWORD, { decoyAt })).kind).toBe('signed_in')
  })

  test('without another user is compared with its own hash', async () => {
    const change = { decoyAt: () => LAST, decoyHash: async () => PROBE }
    await expect(attempt('unknown', PASSWORD, change)).rejects.toThrow(COMPARED)
  })
})

test('the own decoy has the parameters of present hashes, and is made once', async () => {
  const { decoyHash } = server.deps.login
  expect(isOutdated(await decoyHash())).toBe(false)
  expect(await decoyHash()).toBe(await decoyHash())
})

test.each([
  { name: 'a name that does not exist', prepare: 'select 1', account: 'unknown', password: PASSWORD },
  { name: 'a wrong password', prepare: 'select 1', account: 'alice', password: 'wrong' },
  { name: 'a disabled user', prepare: 'update users set disabled_at = now()', account: 'alice', password: PASSWORD },
  {
    name: 'a user without a password',
    prepare: 'update users set password_hash = null',
    account: 'alice',
    password: PASSWORD
  }
])('$name is refused after one hashing', async ({ prepare, account, password }) => {
  await server.createUser('alice', PASSWORD)
  await execute(prepare)
  expect([await attempt(account, password), hashings]).toEqual([{ kind: 'refused' }, 1])
})
