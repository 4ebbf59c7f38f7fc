import type { ClientBase, QueryResult } from 'pg'
import { UnusableSetting } from './postgres-problem.js'
import { type FoundSettings, READ_SETTINGS, unusableSetting } from './postgres-settings.js'

/**
 * Applies the settings of a new connection and returns its process id, in one round trip.
 * @throws {UnusableSetting} if requests would fail with a setting that this connection has
 */
export async function prepareConnection(client: ClientBase, settings: readonly string[]): Promise<number | undefined> {
  const results = [await client.query([...settings, READ_SETTINGS].join('; '))].flat() as QueryResult<FoundSettings>[]
  const found = results.at(-1)?.rows[0]
  const unusable = found && unusableSetting(found)
  if (unusable !== undefined) throw new UnusableSetting(unusable.name)
  return found?.pid
}
