import type { Pooling } from '../postgres/postgres-pooler.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const CHECK = 'postgres pooler'

/**
 * @param options.listens whether the service uses LISTEN, which does not work through a pooler
 * @param options.directSetting the setting with the URL of Postgres itself; `hasDirect`: whether it is set
 */
export function evaluatePooling(
  pooling: Pooling,
  { listens, directSetting, hasDirect }: { listens: boolean; directSetting: string; hasDirect: boolean }
): Finding {
  switch (pooling) {
    case 'direct':
      return ok(CHECK, 'none: the connection goes to Postgres directly')
    case 'mixed':
      return fatal(CHECK, {
        what: 'the connection goes through a pooler that shares connections, and loses prepared statements or transactions',
        why: 'Prepared statements get lost or mixed between connections, so requests fail.',
        fix: `use PgBouncer 1.21 or newer in transaction mode with max_prepared_statements and set ${directSetting}, or connect to Postgres directly`
      })
    case 'transaction':
      if (hasDirect) return ok(CHECK, 'transaction mode, which works')
      return fatal(CHECK, {
        what: `the connection goes through a pooler in transaction mode, and ${directSetting} is not set`,
        why: 'LISTEN, migrations and locks need a connection of their own, and the settings of a connection reach other processes.',
        fix: `set ${directSetting} to Postgres itself`
      })
    case 'session':
      if (!listens || hasDirect) return ok(CHECK, 'session mode, which works')
      return warning(CHECK, {
        what: `the connection goes through a pooler in session mode, and ${directSetting} is not set`,
        why: 'The service cannot use LISTEN through a pooler, so caches stay off: every token and client is read from the database.',
        fix: `set ${directSetting} to Postgres itself`
      })
  }
}
