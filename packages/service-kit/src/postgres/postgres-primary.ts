import { Client, type ClientBase, type ClientConfig } from 'pg'
import { postgresUrls } from './postgres-url.js'

/** @throws when the server is a standby */
async function requirePrimary(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  if (rows[0]?.standby !== false) throw new Error('this server is a standby')
}

/** Connects to the first server of the URL that responds and is not a standby. */
export async function connectToPrimary(url: string, options: ClientConfig): Promise<Client> {
  const urls = postgresUrls(url)
  let failure: unknown
  for (const connectionString of urls) {
    const client = new Client({ ...options, connectionString })
    // Without a listener, an error on the idle connection would end the process. The next query fails anyway.
    client.on('error', () => {})
    try {
      await client.connect()
      if (urls.length > 1) await requirePrimary(client)
      return client
    } catch (error) {
      failure = error
      await client.end().catch(() => {})
    }
  }
  throw failure
}

/**
 * Chooses the server for each connection of a pool if the URL names several: the last known primary, and the next server
 * whenever one does not respond or is a standby.
 */
export function createPrimarySearch(url: string) {
  const urls = postgresUrls(url)
  const failures = new WeakSet<object>()
  const addresses = new WeakMap<ClientBase, number>()
  let current = 0

  function tryNext(from: number, error: unknown): void {
    if (from === current) current = (from + 1) % urls.length
    if (error instanceof Error) failures.add(error)
  }

  /** Replaces the driver's class. */
  function PrimaryClient(options: ClientConfig): Client {
    const address = current
    const client = new Client({ ...options, connectionString: urls[address] as string })
    const connect = client.connect.bind(client) as (done: (error: Error | undefined) => void) => void
    client.connect = ((done: (error: Error | undefined) => void) =>
      connect((error) => {
        if (error) tryNext(address, error)
        done(error)
      })) as Client['connect']
    addresses.set(client, address)
    return client
  }

  return {
    servers: urls.length,
    Client: PrimaryClient as unknown as typeof Client,

    /** Callers call this for each new connection, before it is used. */
    async check(client: ClientBase): Promise<void> {
      try {
        await requirePrimary(client)
      } catch (error) {
        tryNext(addresses.get(client) ?? current, error)
        throw error
      }
    },

    /** Whether a statement failed before it was sent, because there was no primary; it may be sent to the next server. */
    wasNeverSent: (error: unknown): boolean =>
      error instanceof Error && (failures.has(error) || (error.cause instanceof Error && failures.has(error.cause)))
  }
}
