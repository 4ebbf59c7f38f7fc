import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { comparableBinding, hashToken } from '@valetkey/oauth-protocol'
import { createRecordAuthentication } from '../../../src/platform/encryption/authenticate-records.js'
import {
  AUDIENCE,
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { grantOf, kindOf } from '../../support/codes.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { startForgeryTarget } from '../../support/forgery.js'
import { collectLog } from '../../support/log-lines.js'
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

/** How many codes failed their check while this ran. */
async function forgedDuring(run: () => Promise<unknown>): Promise<number> {
  const grown = await growth(server, run)
  return grown['valetkey_redis_records_forged_total{kind=vk:code}'] ?? 0
}

test('a record without a valid MAC is logged, only with its kind', async () => {
  const { logger, lines } = collectLog()
  const logging = await startTestServer({}, logger)
  await logging.createUser('alice', PASSWORD)
  const client = await logging.createClient()
  const code = await obtainCode(logging, client)
  const key = `vk:code:${hashToken(code).toString('hex')}`
  const record = (await logging.redis.get(key)) ?? ''
  await logging.redis.set(key, record.replace('"files.read"', '"files.read","files.read:images"'), 'KEEPTTL')
  expect(kindOf(await exchange(logging, client, code))).toBe('400 invalid_grant')
  await logging.close()
  const logged = lines.filter(({ event }) => event === 'redis_record_forged')
  expect(logged).toEqual([expect.objectContaining({ kind: 'vk:code' })])
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
    const forged = await forgedDuring(async () => {
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
