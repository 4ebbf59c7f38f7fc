import { expect, test } from '@jest/globals'
import type { Database, Statement } from '@valetkey/service-kit'
import { createAuditEntryStore } from '../../../src/storage/postgres/audit-entries.js'

test('statement names with all filters have at most 63 characters, which Postgres compares', async () => {
  const names: string[] = []
  const query = async ({ name }: Pick<Statement, 'name'>) => {
    names.push(name)
    return []
  }
  const entries = createAuditEntryStore({ query } as unknown as Database)
  const all = {
    userId: 'u',
    clientId: 'c',
    event: 'e',
    requestId: 'r',
    traceId: 't',
    secretId: 's',
    since: new Date(0)
  }
  await entries.list(all, { after: '1', limit: 1 })
  await entries.listFrom(all, { after: '1', limit: 1 })
  expect(names.map((name) => name.length <= 63)).toEqual([true, true])
})
