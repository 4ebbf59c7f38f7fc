import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { comparableBinding, hashToken } from '@valetkey/oauth-protocol'
import { hashId } from '../../../src/browser/session/random-id.js'
import { createRecordAuthentication } from '../../../src/platform/encryption/authenticate-records.js'
import {
  AUDIENCE,
  COOKIES,
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { grantOf, kindOf } from '../../support/codes.js'
import { exchange, obtainCode } from '../../support/flow.js'
import { startForgeryTarget } from '../../support/forgery.js'
import { collectLog } from '../../support/log-lines.js'
import { signedInBrowser } from '../../support/pages.js'
import { growth } from '../../support/samples.js'

let server: TestServer
let printer: Credentials
let album: Credentials

beforeAll(async () => {
  ;({ server, printer, album } = await startForgeryTarget())
})
afterAll(() => server.close())

const read = async (key: string) => (await server.redis.get(key)) ?? ''
const write = (key: string, value: string) => server.redis.set(key, value, 'PX', 700_000)

/** How many records of this kind failed their check while this ran. */
async function forgedDuring(kind: 'vk:session' | 'vk:code', run: () => Promise<unknown>): Promise<number> {
  const grown = await growth(server, run)
  return grown[`valetkey_redis_records_forged_total{kind=${kind}}`] ?? 0
}

describe('a session written by mallory', () => {
  const keyOf = (browser: Browser) => `vk:session:${hashId(browser.cookies.get(COOKIES.session) ?? '')}`

  let alice: { browser: Browser; record: string }
  let mallory: { browser: Browser; record: string }

  beforeEach(async () => {
    const [first, second] = [await signedInBrowser(server, 'alice'), await signedInBrowser(server, 'mallory')]
    alice = { browser: first, record: await read(keyOf(first)) }
    mallory = { browser: second, record: await read(keyOf(second)) }
  })

  async function nameIn(browser: Browser): Promise<string | undefined> {
    const page = await browser.open(`${ISSUER}/account/apps`)
    return ['alice', 'mallory'].find(
      (name) => new URL(page.url).pathname === '/account/apps' && page.body.includes(name)
    )
  }

  const contentOf = (record: string) => JSON.parse(record.slice(record.indexOf('{')))
  const bare = (record: string) => record.slice(record.indexOf('{'))
  const macOf = (content: string, key: string) => createHmac('sha256', key).update(content).digest('base64url')

  test('a session written by the service is valid', async () => {
    expect([await nameIn(alice.browser), await nameIn(mallory.browser)]).toEqual(['alice', 'mallory'])
  })

  test.each<{ name: string; forge(key: string): string }>([
    { name: 'a copy of alice’s', forge: () => alice.record },
    { name: 'alice’s without its MAC', forge: () => bare(alice.record) },
    { name: 'alice’s with the MAC of mallory’s', forge: () => mallory.record.slice(0, 44) + bare(alice.record) },
    {
      name: 'mallory’s with the id of alice',
      forge: () => mallory.record.replace(contentOf(mallory.record).userId, contentOf(alice.record).userId)
    },
    { name: 'a later sign-in', forge: () => mallory.record.replace(/"signedInAt":\d/, '"signedInAt":9') },
    { name: 'a MAC under no key', forge: () => `${macOf(bare(alice.record), '')} ${bare(alice.record)}` },
    {
      name: 'a MAC under a key of her own',
      forge: (key) => createRecordAuthentication(['m'.repeat(32)]).protect(key, bare(alice.record))
    },
    { name: 'no record at all', forge: () => 'null' }
  ])('$name: not signed in, and counted', async ({ forge }) => {
    const key = keyOf(mallory.browser)
    await write(key, forge(key))
    const forged = await forgedDuring('vk:session', async () => {
      expect(await nameIn(mallory.browser)).toBeUndefined()
    })
    expect(forged).toBeGreaterThan(0)
  })

  test('two swapped records: not signed in', async () => {
    await write(keyOf(mallory.browser), alice.record)
    await write(keyOf(alice.browser), mallory.record)
    expect([await nameIn(alice.browser), await nameIn(mallory.browser)]).toEqual([undefined, undefined])
  })
})

test('a record without a valid MAC is logged, only with its kind', async () => {
  const { logger, lines } = collectLog()
  const logging = await startTestServer({}, logger)
  const browser = logging.newBrowser()
  browser.cookies.set(COOKIES.session, 'm'.repeat(43))
  await logging.redis.set(`vk:session:${hashId('m'.repeat(43))}`, '{}')
  await browser.open(`${ISSUER}/login`)
  await logging.close()
  const logged = lines.filter(({ event }) => event === 'redis_record_forged')
  expect(logged).toEqual([expect.objectContaining({ kind: 'vk:session' })])
})

describe('a code written by mallory', () => {
  const keyOf = (code: string) => `vk:code:${hashToken(code).toString('hex')}`
  const bodyOf = (record: string) => record.slice(record.indexOf('{')).split('\n')[0] ?? ''
  /** The record with other content behind the hashes and the MAC of before. */
  const edit = (record: string, from: string, to: string) =>
    record.replace(bodyOf(record), bodyOf(record).replace(from, to))

  let ofAlice: { code: string; record: string }
  let ofMallory: { code: string; record: string }

  beforeEach(async () => {
    const [first, second] = [
      await obtainCode(server, printer, { username: 'alice' }),
      await obtainCode(server, album, { username: 'mallory' })
    ]
    ofAlice = { code: first, record: await read(keyOf(first)) }
    ofMallory = { code: second, record: await read(keyOf(second)) }
  })

  const userIdOf = (record: string): string => JSON.parse(bodyOf(record)).allowed.userId

  test.each<{ name: string; forge(key: string): string }>([
    { name: 'a copy of alice’s', forge: () => ofAlice.record },
    {
      name: 'alice’s, for the client of mallory',
      forge: () => edit(ofAlice.record, printer.clientId, album.clientId)
    },
    {
      name: 'mallory’s, for alice',
      forge: () => edit(ofMallory.record, userIdOf(ofMallory.record), userIdOf(ofAlice.record))
    },
    {
      name: 'mallory’s, with more scope',
      forge: () => edit(ofMallory.record, '"files.read"', '"files.read","files.read:images"')
    },
    {
      name: 'mallory’s, after an ending',
      forge: () => edit(ofMallory.record, '"authorizationGeneration":0', '"authorizationGeneration":1')
    },
    {
      name: 'mallory’s, with a name for the grant to discard',
      forge: () => edit(ofMallory.record, '"undelivered":[]', '"undelivered":["x"]')
    },
    {
      name: 'one under a key of her own',
      forge: (key) => {
        const records = createRecordAuthentication(['m'.repeat(32)])
        return ofMallory.record.replace(/ \S{43} \{.*/, ` ${records.protect(key, bodyOf(ofMallory.record))}`)
      }
    },
    { name: 'no JSON and no MAC', forge: () => ofMallory.record.replace(/ \S{43} \{.*/, ' x') },
    {
      name: 'a code that she claims to have taken before',
      forge: () => `taken x 20000 ${ofAlice.record.slice('issued '.length)}`
    }
  ])('$name: no token, and counted', async ({ forge }) => {
    const key = keyOf(ofMallory.code)
    // The hashes, which the script compares, are those of her own request: the MAC does not cover them.
    const hashes = ofMallory.record.split(' ').slice(1, 3).join(' ')
    await write(key, forge(key).replace(/^((?:issued|taken \S+ \d+) )\S{43} \S+/, `$1${hashes}`))
    const forged = await forgedDuring('vk:code', async () => {
      expect(kindOf(await exchange(server, album, ofMallory.code))).toBe('400 invalid_grant')
    })
    expect(forged).toBe(1)
    expect(await grantOf(server, ofMallory.code)).toBeUndefined()
  })

  test('of alice’s code with the hashes of mallory’s request: no token, because the MAC covers the binding', async () => {
    const binding = {
      clientId: album.clientId,
      redirectUri: REDIRECT_URI,
      codeChallenge: undefined,
      audience: AUDIENCE
    }
    const { hash, resource } = comparableBinding(binding)
    const forged = ofAlice.record.replace(/^issued \S{43} \S+/, `issued ${hash} ${resource}`)
    await write(keyOf(ofAlice.code), forged)
    expect(kindOf(await exchange(server, album, ofAlice.code))).toBe('400 invalid_grant')
    expect(await grantOf(server, ofAlice.code)).toBeUndefined()
  })

  test('two swapped records: no token for either', async () => {
    await write(keyOf(ofAlice.code), ofMallory.record)
    await write(keyOf(ofMallory.code), ofAlice.record)
    expect(kindOf(await exchange(server, printer, ofAlice.code))).toBe('400 invalid_grant')
    expect(kindOf(await exchange(server, album, ofMallory.code))).toBe('400 invalid_grant')
  })

  test('a used code restored to its unused record: Postgres detects the reuse, and its tokens end', async () => {
    expect(kindOf(await exchange(server, album, ofMallory.code))).toBe('200')
    await write(keyOf(ofMallory.code), ofMallory.record)
    const answer = await exchange(server, album, ofMallory.code)
    expect(answer.json().error_description).toBe('authorization code was already used')
    expect(await grantOf(server, ofMallory.code)).toMatchObject({ accessTokens: 1, refreshTokens: 1, ended: true })
  })
})
