import type { ConnectedDatabase } from '../postgres/postgres.js'
import type { Metrics } from './metrics.js'

/** Exposes the use of the pool of Postgres connections. */
export function watchPool(metrics: Metrics, database: ConnectedDatabase): void {
  metrics.gauge(
    { name: 'valetkey_postgres_connections', help: 'Connections of the pool to Postgres, by what they do.' },
    () => {
      const { inUse, idle } = database.pool()
      return [
        { labels: { state: 'in_use' }, value: inUse },
        { labels: { state: 'idle' }, value: idle }
      ]
    }
  )
  metrics.gauge(
    { name: 'valetkey_postgres_connections_max', help: 'Connections that the pool to Postgres may have.' },
    () => database.pool().most
  )
  metrics.gauge(
    { name: 'valetkey_postgres_statements_waiting', help: 'Statements that wait for a connection to Postgres.' },
    () => database.pool().waiting
  )
}
