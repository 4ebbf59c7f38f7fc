import { Client, type ClientBase, type ClientConfig } from 'pg'
import { postgresUrls } from './postgres-url.js'

/** @throws when the server is a standby, which cannot take what we write */
async function requirePrimary(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  if (rows[0]?.standby !== false) throw new Error('this server is a standby')
}

/** A connection to the first server of the URL that answers and is no standby. */
export async function connectToPrimary(url: string, options: ClientConfig): Promise<Client> {
  const urls = postgresUrls(url)
  let failure: unknown
  for (const connectionString of urls) {
    const client = new Client({ ...options, connectionString })
    // A connection that breaks while idle is reported by the next query as well.
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
 * Where the connections of a pool go when the URL names several servers: to the one that was the primary last, and from
 * there on to the next whenever one does not answer or is a standby.
 */
export function createPrimarySearch(url: string) {
  const urls = postgresUrls(url)
  const failures = new WeakSet<object>()
  const addresses = new WeakMap<ClientBase, number>()
  let current = 0

  function passOn(from: number, error: unknown): void {
    if (from === current) current = (from + 1) % urls.length
    if (error instanceof Error) failures.add(error)
  }

  /** In place of the driver's class. */
  function PrimaryClient(options: ClientConfig): Client {
    const address = current
    const client = new Client({ ...options, connectionString: urls[address] as string })
    const connect = client.connect.bind(client) as (done: (error: Error | undefined) => void) => void
    client.connect = ((done: (error: Error | undefined) => void) =>
      connect((error) => {
        if (error) passOn(address, error)
        done(error)
      })) as Client['connect']
    addresses.set(client, address)
    return client
  }

  return {
    servers: urls.length,
    Client: PrimaryClient as unknown as typeof Client,

    /** For each new connection, before it is used. */
    async check(client: ClientBase): Promise<void> {
      try {
        await requirePrimary(client)
      } catch (error) {
        passOn(addresses.get(client) ?? current, error)
        throw error
      }
    },

    /** Whether a statement failed before it was sent, for want of a primary: it may be sent again, to the next server. */
    wasNeverSent: (error: unknown): boolean =>
      error instanceof Error && (failures.has(error) || (error.cause instanceof Error && failures.has(error.cause)))
  }
}
