import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { Client } from 'pg'
import { settleWithin } from '../process/settle-within.js'
import { withTimeLimit } from '../process/with-time-limit.js'
import { isTooManyConnections } from './connection-limit.js'
import { ASK_PID, isBehindPooler } from './postgres-pooler.js'
import { SET_OWN_SETTINGS } from './postgres-settings.js'
import { postgresUrls } from './postgres-url.js'

export type NotificationChannel = {
  /** Sends to the first channel, on the connection that listens; resolves when Postgres has committed it. */
  notify(payload: string): Promise<void>
  /** Closes the connection, even if the server does not respond. No notification is delivered any more. */
  close(): Promise<void>
}

/** Sends an empty notification to this channel. */
export type SendNotification = (channel: string) => Promise<unknown>

const CONNECT_LIMIT_MS = 3_000
const STATEMENT_LIMIT_MS = 3_000
const END_LIMIT_MS = 500

/**
 * Opens a dedicated connection that listens on one or more channels of Postgres. It does not detect a connection that fails
 * silently; for that, the caller sends a payload and waits for its return. When it returns, every notification that was
 * committed before it has been delivered, on all channels.
 * @param onNotification called with every payload, in commit order across all channels; it must not throw
 * @param onLost called at most once, when the connection ends without `close`
 * @param url if it names several servers, the first that allows LISTEN is used, which a standby does not
 * @param options.makeRoom called before it throws because Postgres refuses more connections (SQLSTATE 53300)
 * @param options.send sends a notification over other connections, whose notifications must arrive here; without it, that
 *   is not checked
 * @throws when it cannot connect or listen, when a pooler is in front of Postgres, or when what `send` sends does not arrive
 */
export async function openNotificationChannel(
  url: string,
  channels: readonly [string, ...string[]],
  onNotification: (payload: string, channel: string) => void,
  onLost: (error: Error) => void,
  options: { makeRoom?: () => Promise<void>; send?: SendNotification | undefined } = {}
): Promise<NotificationChannel> {
  let failure: unknown
  for (const serverUrl of postgresUrls(url)) {
    try {
      return await openAt(serverUrl, channels, onNotification, onLost, options.send)
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
  onLost: (error: Error) => void,
  send: SendNotification | undefined
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
    await settleWithin(END_LIMIT_MS, [client.end()])
    socket.destroy()
  }

  client.on('error', lose)
  client.on('end', () => lose(new Error('the connection ended')))
  client.on('notification', ({ payload, channel }) => {
    if (state !== 'closed' && channels.includes(channel)) onNotification(payload ?? '', channel)
  })
  try {
    await client.connect()
    await refusePooler(client)
    // The settings include the time after which Postgres ends an idle connection. A role may have a short limit of statements.
    await client.query(`${SET_OWN_SETTINGS}; set statement_timeout = ${STATEMENT_LIMIT_MS}`)
    // One transaction, so that it never listens on only some of the channels.
    await client.query(channels.map((channel) => `listen ${client.escapeIdentifier(channel)}`).join('; '))
    if (send !== undefined) await mustReceive(client, send)
  } catch (error) {
    await close()
    throw error
  }
  // The connection may have ended after the last response.
  if (socket.destroyed) throw new Error('the connection ended')
  state = 'open'
  return { notify: inBatches(client, channels[0]), close }
}

/**
 * In transaction mode, a pooler drops notifications but still returns those that this connection sends, so the connection
 * would seem to work. A pooler is recognized by its made-up process id. Session mode is refused as well, because a pooler
 * can be switched to another mode while this connection listens, and revocations would be missed.
 */
async function refusePooler(client: Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>(ASK_PID)
  if (isBehindPooler(client, rows[0]?.pid))
    throw new Error('a pooler is in front of Postgres and cannot forward notifications')
}

/** Sends on a channel of its own, which no other process listens on. */
async function mustReceive(client: Client, send: SendNotification): Promise<void> {
  const channel = `valetkey_check_${randomBytes(16).toString('hex')}`
  const received = new Promise<void>((resolve) => {
    client.on('notification', (notification) => notification.channel === channel && resolve())
  })
  await client.query(`listen ${channel}`)
  await send(channel)
  await withTimeLimit(STATEMENT_LIMIT_MS, received, () => {
    throw new Error('notifications of the database do not arrive: the direct URL must name the same database')
  })
  await client.query(`unlisten ${channel}`)
}

/** One statement at a time, with all payloads that arrived meanwhile: one commit for many callers. */
function inBatches(client: Client, channel: string): (payload: string) => Promise<void> {
  let next: { payloads: string[]; sent: Promise<void> } | undefined
  let last: Promise<unknown> = Promise.resolve()
  return (payload) => {
    if (next === undefined) {
      const batch: string[] = []
      const sent = last.then(async () => {
        next = undefined
        await client.query({
          name: 'notify',
          text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
          values: [channel, batch]
        })
      })
      last = sent.catch(() => {})
      next = { payloads: batch, sent }
    }
    next.payloads.push(payload)
    return next.sent
  }
}
