import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database, Statement } from '@valetkey/service-kit'
import { createIntrospectionStore } from '../../../src/storage/postgres/introspections.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')

let opened: MigratedDatabase
let sent: Statement[]
let database: Database
let grant: StoredGrant
let present = NOW

beforeAll(async () => {
  opened = await createMigratedDatabase()
  database = {
    ...opened.database,
    query(statement) {
      sent.push(statement)
      return atTime(opened.database, () => present).query(statement)
    }
  }
})
beforeEach(async () => {
  grant = await storeGrant(opened.database, NOW)
  sent = []
  present = NOW
})
afterAll(() => opened.close())

const ask = (hash: TokenHash) => ({ hash, bucket: grant.access.bucket })

describe('introspection store: concurrent lookups', () => {
  test('share a statement, and each has its own result', async () => {
    const { find } = createIntrospectionStore(database)
    const other = await storeGrant(opened.database, NOW)
    const found = await Promise.all([
      find(ask(grant.access.hash)),
      find(ask(newHash())),
      find(ask(other.access.hash)),
      find(ask(newHash())),
      find(ask(grant.access.hash))
    ])
    expect(sent.map(({ name }) => name)).toEqual(['list_access_token_buckets', expect.stringMatching(/^find_for/)])
    expect(found.map((token) => token?.tokenId)).toEqual([
      grant.access.tokenId,
      undefined,
      other.access.tokenId,
      undefined,
      grant.access.tokenId
    ])
  })

  test('a token is inactive at its expiry by the clock of Postgres, regardless of the process clock', async () => {
    const { find } = createIntrospectionStore(database)
    present = new Date(grant.access.expiresAt.getTime() - 1)
    expect((await find(ask(grant.access.hash)))?.tokenId).toBe(grant.access.tokenId)
    present = grant.access.expiresAt
    expect(await find(ask(grant.access.hash))).toBeUndefined()
  })

  test('a token that was revoked before is inactive in all of many concurrent lookups', async () => {
    const { find } = createIntrospectionStore(database)
    const crowd = Array.from({ length: 200 }, () => find(ask(grant.access.hash)))
    const revoke = { name: 'test_revoke', text: 'update access_tokens set revoked_at = now() where token_hash = $1' }
    await opened.database.query({ ...revoke, values: [grant.access.hash] })
    expect(await find(ask(grant.access.hash))).toBeUndefined()
    await Promise.all(crowd)
  })
})
