import type { Pooling } from '../postgres-pooler.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const CHECK = 'postgres pooler'

/** @param listens whether the service listens for notifications, which it does not do through a pooler */
export function judgePooling(pooling: Pooling, listens: boolean): Finding {
  switch (pooling) {
    case 'direct':
      return ok(CHECK, 'none: Postgres itself answers')
    case 'shared':
      return fatal(CHECK, {
        what: 'a pooler in transaction or statement mode answers in place of Postgres',
        why: 'Prepared statements and settings of a connection get lost or meet those of others, so requests fail.',
        mend: 'name Postgres itself in the URL, or let the pooler work in session mode'
      })
    case 'session':
      if (!listens) return ok(CHECK, 'one in session mode, which works')
      return warning(CHECK, {
        what: 'a pooler in session mode answers in place of Postgres',
        why: 'The service does not listen through a pooler: every token is asked for, every client looked up.',
        mend: 'name Postgres itself in the URL'
      })
  }
}
