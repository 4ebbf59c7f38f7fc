import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import type { AuditNote } from '../../../src/storage/postgres/audited.js'
import { createOperatorKeyStore } from '../../../src/storage/postgres/operator-keys.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'

const NOW = new Date('2026-11-21T08:00:00Z')

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
beforeEach(() => stores.run('truncate audit_events, operator_keys'))
afterAll(() => stores.close())

const note: AuditNote = {
  event: 'operator_key_created',
  requestId: 'a request',
  traceId: 'a trace',
  clientId: 'a client',
  userId: randomUUID(),
  address: '2001:db8::1',
  details: { actor: { kind: 'command_line', name: 'olivia' } }
}

const create = (change: Partial<AuditNote> = {}, name = 'ci') =>
  createOperatorKeyStore(atTime(stores.database, NOW)).create(
    { operatorKeyId: randomUUID(), name, createdBy: undefined },
    hashToken(randomUUID()),
    { ...note, ...change }
  )

const count = async (table: string) => (await stores.run(`select 1 as one from ${table}`)).length

test('a change and its audit entry are written together, with all fields of the note', async () => {
  expect(await create()).toMatchObject({ name: 'ci', createdAt: NOW })
  expect(await stores.run('select * from audit_events')).toEqual([
    {
      event_id: expect.any(String),
      occurred_at: NOW,
      event: note.event,
      request_id: note.requestId,
      trace_id: note.traceId,
      client_id: note.clientId,
      user_id: note.userId,
      address: note.address,
      details: note.details
    }
  ])
})

test('if the entry cannot be written, the change is rolled back', async () => {
  await expect(create({ userId: 'no uuid' })).rejects.toThrow(/uuid/)
  expect([await count('operator_keys'), await count('audit_events')]).toEqual([0, 0])
})

test('a refused change writes no entry', async () => {
  await create()
  expect(await create()).toBe('name_taken')
  expect([await count('operator_keys'), await count('audit_events')]).toEqual([1, 1])
})

test('a change without effect writes no entry', async () => {
  expect(await createOperatorKeyStore(stores.database).revoke(randomUUID(), note)).toBeUndefined()
  expect(await count('audit_events')).toBe(0)
})
