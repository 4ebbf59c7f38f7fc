import type { Pooling } from '../postgres/postgres-pooler.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const CHECK = 'postgres pooler'

/** @param listens whether the service uses LISTEN, which does not work through a pooler */
export function evaluatePooling(pooling: Pooling, listens: boolean): Finding {
  switch (pooling) {
    case 'direct':
      return ok(CHECK, 'none: the connection goes to Postgres directly')
    case 'shared':
      return fatal(CHECK, {
        what: 'the connection goes through a pooler in transaction or statement mode',
        why: 'Prepared statements and session settings get lost or mixed between connections, so requests fail.',
        fix: 'connect to Postgres directly, or set the pooler to session mode'
      })
    case 'session':
      if (!listens) return ok(CHECK, 'session mode, which works')
      return warning(CHECK, {
        what: 'the connection goes through a pooler in session mode',
        why: 'The service cannot use LISTEN through a pooler, so caches stay off: every token and client is read from the database.',
        fix: 'connect to Postgres directly'
      })
  }
}
