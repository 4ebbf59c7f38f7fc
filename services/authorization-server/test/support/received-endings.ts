import { expect } from '@jest/globals'
import { Client } from 'pg'
import { createMigratedDatabase } from './migrated-database.js'

/** A database, and a connection of an operator that receives the notifications of the triggers. */
export async function openObservedDatabase() {
  const { close, ...world } = await createMigratedDatabase()
  const operator = new Client({ connectionString: world.url })
  await operator.connect()
  await operator.query('listen valetkey_revocations')
  const received: unknown[] = []
  operator.on('notification', ({ payload }) => received.push(JSON.parse(payload ?? '')))
  return {
    ...world,
    operator,
    /** All that was announced between the call before and this one: Postgres delivers in the order of the commits. */
    async announced(): Promise<unknown[]> {
      await operator.query(`notify valetkey_revocations, '"mark"'`)
      // A connection's own notification arrives before the response to its next statement.
      await operator.query('select 1')
      expect(received.at(-1)).toBe('mark')
      return received.splice(0).slice(0, -1)
    },
    async close() {
      await operator.end()
      await close()
    }
  }
}

export type ObservedDatabase = Awaited<ReturnType<typeof openObservedDatabase>>
