import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database, Statement } from '@valetkey/service-kit'
import { createIntrospectionStore } from '../../src/storage/introspections.js'
import { createResourceServerStore, type ResourceServer } from '../../src/storage/resource-servers.js'
import { newDigest, openTestDatabase, type StoredGrant, storeGrant } from '../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')

let opened: Awaited<ReturnType<typeof openTestDatabase>>
let sent: Statement[]
let database: Database
let grant: StoredGrant

beforeAll(async () => {
  opened = await openTestDatabase()
  database = {
    ...opened.database,
    query(statement) {
      sent.push(statement)
      return opened.database.query(statement)
    }
  }
})
beforeEach(async () => {
  grant = await storeGrant(opened.database, NOW)
  sent = []
})
afterAll(() => opened.close())

type Caller = { server: ResourceServer; secretDigest: TokenDigest }

async function newCaller(): Promise<Caller> {
  const id = randomUUID()
  const server = { clientId: `rs_${id}`, name: 'files', audience: `https://${id}.example` }
  const secretDigest = newDigest()
  await createResourceServerStore(opened.database).create(server, secretDigest, NOW)
  return { server, secretDigest }
}

const ask = ({ server, secretDigest }: Caller, tokenDigest: TokenDigest | undefined, now = NOW) => ({
  clientId: server.clientId,
  secretDigest,
  tokenDigest,
  now
})

describe('introspection store: who asks, and about what, by one look', () => {
  test('a wrong secret finds the caller to compare it with, and no token, live as it is', async () => {
    const { find } = createIntrospectionStore(database)
    const caller = await newCaller()
    const found = await find({ ...ask(caller, grant.access.digest), secretDigest: newDigest() })
    expect(found).toEqual({ resourceServer: caller.server, secretHash: caller.secretDigest, accessToken: undefined })
  })

  test('an id that nobody has finds nothing, not even the token', async () => {
    const { find } = createIntrospectionStore(database)
    const caller = await newCaller()
    expect(await find({ ...ask(caller, grant.access.digest), clientId: 'rs_unknown' })).toBeUndefined()
  })

  test('those who ask together share statements, and each has its own answer', async () => {
    const { find } = createIntrospectionStore(database)
    const [files, reports] = [await newCaller(), await newCaller()]
    const other = await storeGrant(opened.database, NOW)
    const late = new Date(grant.access.expiresAt.getTime())
    const found = await Promise.all([
      find(ask(files, grant.access.digest)),
      find({ ...ask(files, grant.access.digest), clientId: 'rs_unknown' }),
      find(ask(reports, other.access.digest)),
      find({ ...ask(reports, other.access.digest), secretDigest: files.secretDigest }),
      find(ask(files, grant.access.digest, late)),
      find(ask(reports, undefined)),
      find(ask(files, grant.access.digest))
    ])
    expect(sent).toHaveLength(1)
    expect(found.map((finding) => [finding?.resourceServer, finding?.accessToken?.tokenId])).toEqual([
      [files.server, grant.access.tokenId],
      [undefined, undefined],
      [reports.server, other.access.tokenId],
      [reports.server, undefined],
      [files.server, undefined],
      [reports.server, undefined],
      [files.server, grant.access.tokenId]
    ])
  })

  test('what was revoked before the question is dead, however many ask at the time', async () => {
    const { find } = createIntrospectionStore(database)
    const caller = await newCaller()
    const crowd = Array.from({ length: 200 }, () => find(ask(caller, grant.access.digest)))
    const revoke = { name: 'test_revoke', text: 'update access_tokens set revoked_at = now() where token_hash = $1' }
    await opened.database.query({ ...revoke, values: [grant.access.digest] })
    expect((await find(ask(caller, grant.access.digest)))?.accessToken).toBeUndefined()
    await Promise.all(crowd)
  })
})
