import type { Logger, NotificationChannel } from '@valetkey/service-kit'
import { isSilent, isVerified, type ListenSession, PROOF_MS, pulsePayload } from './listen-session.js'
import { createListening, type Listening, type ListeningDeps, type RegistryFollower } from './listening.js'
import type { Notification } from './notification.js'

/** Receives the notifications of the LISTEN connection, in the order of the commits. */
type NotificationHandlers = {
  revocation(payload: string): void
  registryChange(payload: string): void
  lost(error: Error): void
}

const PULSE_EVERY_MS = 250
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

type Connection = {
  listening: Listening
  openedAt: number
  channel?: NotificationChannel
  pulse?: NodeJS.Timeout
}

/** Holds the LISTEN connection: sends pulses, and reconnects when the connection is lost. */
export function createListenConnection(
  deps: ListeningDeps & {
    connect(handlers: NotificationHandlers): Promise<NotificationChannel>
    registry: RegistryFollower
  }
) {
  const { connect, registry, monotonicNow } = deps
  const status = createStatus(monotonicNow())
  let logger: Logger | undefined
  let current: Connection | undefined
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS

  const isCurrentAndVerified = (mine: Connection): boolean =>
    current === mine && isVerified(mine.listening.session, monotonicNow())

  async function listen(): Promise<void> {
    const listening = createListening(deps, logger, (notification) => noteDelivery(mine, notification))
    const mine: Connection = { listening, openedAt: monotonicNow() }
    current = mine
    try {
      const channel = await connect({ ...listening.handlers, lost: (error) => lose(mine, reasonOf(error)) })
      if (current !== mine) return await channel.close()
      mine.channel = channel
      mine.openedAt = monotonicNow()
      registry.begin(() => isCurrentAndVerified(mine), logger)
      mine.pulse = startPulses(mine, channel, monotonicNow, (reason) => lose(mine, reason))
    } catch (error) {
      lose(mine, reasonOf(error))
    }
  }

  function noteDelivery(mine: Connection, notification: Notification): void {
    status.delivered(mine.listening.session, notification)
    if (isCurrentAndVerified(mine) && status.ready(mine.listening.session.epoch, logger)) retryMs = FIRST_RETRY_MS
  }

  function lose(mine: Connection, reason: string): void {
    if (current !== mine) return
    disconnect()
    status.lost(reason, logger)
    // Half of it at random, so that many processes do not reconnect at once.
    retry = setTimeout(listen, retryMs * (0.5 + Math.random() / 2))
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
  }

  function disconnect(): void {
    const mine = current
    current = undefined
    clearInterval(mine?.pulse)
    mine?.listening.stop()
    registry.end()
    mine?.channel?.close().catch(() => {})
    // A stream without notifications must not stay open: guards would trust it.
    mine?.listening.streams.endAll()
  }

  return {
    counts: status.counts,

    /** Connects, and reconnects whenever the connection is lost; never fails. */
    start(log: Logger): void {
      logger = log
      void listen()
    },

    current: (): Readonly<Connection> | undefined => current,

    async close(): Promise<void> {
      clearTimeout(retry)
      const channel = current?.channel
      disconnect()
      await channel?.close()
    }
  }
}

/** Sends pulses over Postgres to this process. Too long without a returned pulse means that the connection is lost. */
function startPulses(
  { listening: { session }, openedAt }: Connection,
  channel: NotificationChannel,
  monotonicNow: () => number,
  onLost: (reason: string) => void
): NodeJS.Timeout {
  const sendPulse = (): void => {
    const now = monotonicNow()
    if (isSilent(session, openedAt, now)) onLost('no pulse received')
    else channel.notify(pulsePayload(session, now)).catch((error: unknown) => onLost(reasonOf(error)))
  }
  sendPulse()
  return setInterval(sendPulse, PULSE_EVERY_MS)
}

/** Counts, and logs each change between ready and lost once. */
function createStatus(startedAt: number) {
  const counts = { verifiedAt: startedAt, revocations: 0, losses: 0 }
  let reported: 'ready' | 'lost' | undefined
  return {
    counts: counts as Readonly<typeof counts>,

    delivered(session: ListenSession, notification: Notification): void {
      if (notification.kind === 'ended') counts.revocations += 1
      counts.verifiedAt = Math.max(counts.verifiedAt, session.verifiedUntil - PROOF_MS)
    },

    /** @returns whether the state has changed */
    ready(epoch: string, logger: Logger | undefined): boolean {
      if (reported === 'ready') return false
      reported = 'ready'
      logger?.info({ event: 'revocation_channel_ready', epoch }, 'the revocation feed works')
      return true
    },

    lost(reason: string, logger: Logger | undefined): void {
      counts.losses += 1
      if (reported === 'lost') return
      reported = 'lost'
      logger?.warn({ event: 'revocation_channel_lost', reason }, 'no revocation feed; listening again')
    }
  }
}

/** Some connection errors of Node have a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}
