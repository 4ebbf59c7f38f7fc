import type { Database } from '@valetkey/service-kit'
import { isClockStopped } from './clock.js'

/** A database whose `now()` is the given time, except inside its functions. */
export function atTime(database: Database, now: Date | (() => Date)): Database {
  return {
    ...database,
    query(statement) {
      const time = typeof now === 'function' ? now() : now
      const text = statement.text.replaceAll(/\bnow\(\)/g, `'${time.toISOString()}'::timestamptz`)
      return database.query({ ...statement, name: '', text })
    }
  }
}

/** A database with the stopped clock of the test. */
export function followingClock(database: Database): Database {
  const stopped = atTime(database, () => new Date())
  return { ...database, query: (statement) => (isClockStopped() ? stopped : database).query(statement) }
}
