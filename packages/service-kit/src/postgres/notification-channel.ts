import { Socket } from 'node:net'
import { Client } from 'pg'
import { settleWithin } from '../process/settle-within.js'
import { isTooManyConnections } from './connection-limit.js'
import { ASK_PID, isBehindPooler } from './postgres-pooler.js'
import { postgresUrls } from './postgres-url.js'

export type NotificationChannel = {
  /** Sends to the first channel, on the very connection that listens; resolves when Postgres has committed it. */
  notify(payload: string): Promise<void>
  /** Ends the connection, also one that does not answer. Nothing is heard from it any more. */
  close(): Promise<void>
}

const CONNECT_LIMIT_MS = 3_000
const STATEMENT_LIMIT_MS = 3_000
const GOODBYE_LIMIT_MS = 500

/**
 * One dedicated connection that listens on one or more channels of Postgres. A connection that falls silent is not noticed
 * here: that takes a payload of one's own that is expected back. One that has come back proves that all which was committed
 * before it was sent has been heard, on whichever of the channels.
 * @param onNotification every payload, in the order of the commits across all channels; it must not throw
 * @param onLost at most once, when the connection ends without `close`
 * @param url of several servers that it names, the first that lets it listen, which a standby does not
 * @param options.makeRoom called before it throws because Postgres gives no more connections (SQLSTATE 53300)
 * @throws when it cannot connect or listen, or when a pooler answers in Postgres's place
 */
export async function openNotificationChannel(
  url: string,
  channels: readonly [string, ...string[]],
  onNotification: (payload: string, channel: string) => void,
  onLost: (error: Error) => void,
  options: { makeRoom?: () => Promise<void> } = {}
): Promise<NotificationChannel> {
  let failure: unknown
  for (const one of postgresUrls(url)) {
    try {
      return await openAt(one, channels, onNotification, onLost)
    } catch (error) {
      failure = error
    }
  }
  if (isTooManyConnections(failure)) await options.makeRoom?.().catch(() => {})
  throw failure
}

async function openAt(
  url: string,
  channels: readonly [string, ...string[]],
  onNotification: (payload: string, channel: string) => void,
  onLost: (error: Error) => void
): Promise<NotificationChannel> {
  const socket = new Socket()
  const client = new Client({
    connectionString: url,
    stream: () => socket,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: STATEMENT_LIMIT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000
  })
  let state: 'opening' | 'open' | 'closed' = 'opening'

  function lose(error: Error): void {
    const wasOpen = state === 'open'
    state = 'closed'
    socket.destroy()
    if (wasOpen) onLost(error)
  }

  async function close(): Promise<void> {
    state = 'closed'
    await settleWithin(GOODBYE_LIMIT_MS, [client.end()])
    socket.destroy()
  }

  client.on('error', lose)
  client.on('end', () => lose(new Error('the connection ended')))
  client.on('notification', ({ payload, channel }) => {
    if (state !== 'closed') onNotification(payload ?? '', channel)
  })
  try {
    await client.connect()
    await refusePooler(client)
    // One transaction: there is no moment at which it listens to some of them.
    await client.query(channels.map((channel) => `listen ${client.escapeIdentifier(channel)}`).join('; '))
  } catch (error) {
    await close()
    throw error
  }
  // The server may have gone between its answer and this line.
  if (socket.destroyed) throw new Error('the connection ended')
  state = 'open'
  return { notify: inBatches(client, channels[0]), close }
}

/**
 * A pooler that hands the connection on to others between two statements drops notifications, yet gives us back our own:
 * it would look alive. It is known by the process id it made up. One in session mode would do, but it can be switched to
 * another mode while this connection listens, and then revocations would go unheard.
 */
async function refusePooler(client: Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>(ASK_PID)
  if (isBehindPooler(client, rows[0]?.pid))
    throw new Error('a pooler stands before Postgres, and cannot pass on notifications')
}

/** One statement at a time, with all that has gathered meanwhile: one commit for many callers. */
function inBatches(client: Client, channel: string): (payload: string) => Promise<void> {
  let gathering: { payloads: string[]; sent: Promise<void> } | undefined
  let last: Promise<unknown> = Promise.resolve()
  return (payload) => {
    if (gathering === undefined) {
      const batch: string[] = []
      const sent = last.then(async () => {
        gathering = undefined
        await client.query({
          name: 'notify',
          text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
          values: [channel, batch]
        })
      })
      last = sent.catch(() => {})
      gathering = { payloads: batch, sent }
    }
    gathering.payloads.push(payload)
    return gathering.sent
  }
}
