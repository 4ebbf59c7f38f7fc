import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import pg from 'pg'
import { createPasskeyStore } from '../../../../src/features/passkeys/passkey-store.js'
import { createMigratedDatabase } from '../../../support/migrated-database.js'
import { openSessionOf } from '../../../support/sessions.js'
import { untilBlocked } from '../../../support/until-blocked.js'

test('the removal of a passkey waits for a parallel removal of another way to sign in, and then keeps the passkey', async () => {
  const { database, run, url, close } = await createMigratedDatabase()
  const userId = randomUUID()
  await run('insert into users (user_id, username, canonical_name, created_at) values ($1, $2, $2, now())', [
    userId,
    userId
  ])
  await run(
    `insert into passkeys (passkey_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid, name,
       position, created_at)
     values ('id', $1, '\\x00', 0, '{}', 'singleDevice', false, $2, 'Laptop', 1, now())`,
    [userId, randomUUID()]
  )
  const passkeys = createPasskeyStore(database)
  const sessionHash = await openSessionOf(database, userId)
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query('begin')
  // Both were decided while the user had two ways to sign in. Each removal ends all sessions.
  await other.query('update users set session_generation = session_generation + 1')
  const removal = passkeys.remove({ userId, sessionHash }, 'id')
  await untilBlocked(run)
  await other.query('commit')
  await other.end()
  expect(await removal).toBeUndefined()
  expect(await passkeys.list(userId)).toHaveLength(1)
  const later = await openSessionOf(database, userId)
  expect(await passkeys.remove({ userId, sessionHash: later }, 'id')).toMatchObject({ sessionGeneration: 2 })
  expect(await passkeys.list(userId)).toEqual([])
  await close()
})
