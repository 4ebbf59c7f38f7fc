import { type Logger, type NotificationChannel, StoreUnavailable } from '@valetkey/service-kit'
import type { GrantedAudiences } from '../storage/postgres/granted-audiences.js'
import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import type { Credential } from './credential-check.js'
import type { EventStream } from './event-stream.js'
import {
  type Concerns,
  isSilent,
  isVerified,
  type ListenSession,
  noncePayload,
  openSession,
  PROOF_MS,
  pulsePayload,
  receive
} from './listen-session.js'
import { type Notification, readNotification } from './notification.js'
import { createOpenStreams, type OpenStreams } from './open-streams.js'
import { createOrderedDelivery, type OrderedDelivery } from './ordered-delivery.js'

/** Receives the notifications of the LISTEN connection, in the order of the commits. */
export type NotificationHandlers = {
  revocation(payload: string): void
  registryChange(payload: string): void
  lost(error: Error): void
}

/** A cache that changes of the registry invalidate. It receives them in order, and may be used while the session is verified. */
export type RegistryFollower = {
  begin(isVerified: () => boolean, logger: Logger | undefined): void
  /** @returns whether credentials of resource servers may have changed */
  hear(payload: string): boolean
  end(): void
}

export type ChannelDeps = {
  connect(handlers: NotificationHandlers): Promise<NotificationChannel>
  registry: RegistryFollower
  resourceServers: Pick<ResourceServerStore, 'list'>
  granted: GrantedAudiences
  newId(): string
  /** Milliseconds of a clock that is never set back. */
  monotonicNow(): number
}

const PULSE_EVERY_MS = 250
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/** The session and its number of credential changes, taken before a credential is looked up. */
export type CredentialMark = { session: ListenSession | undefined; changes: number | undefined }

type Listening = {
  session: ListenSession
  streams: OpenStreams
  delivery: OrderedDelivery
  /** Number of possible changes of resource server credentials. */
  credentialChanges: number
  openedAt: number
  connection?: NotificationChannel
  pulse?: NodeJS.Timeout
}

/**
 * Holds the LISTEN connection and forwards revocation events to the open streams, and changes of the registry to the cache of
 * this process.
 */
export function createRevocationChannel({
  connect,
  registry,
  resourceServers,
  granted,
  newId,
  monotonicNow
}: ChannelDeps) {
  let logger: Logger | undefined
  let current: Listening | undefined
  let retry: NodeJS.Timeout | undefined
  let retryMs = FIRST_RETRY_MS
  let reported: 'ready' | 'lost' | undefined
  let verifiedAt = monotonicNow()
  let received = 0
  let losses = 0

  async function listen(): Promise<void> {
    const mine = newListening()
    current = mine
    try {
      const connection = await connect({
        revocation: (payload) => receiveRevocation(mine, payload),
        registryChange: (payload) => receiveRegistryChange(mine, payload),
        lost: (error) => lose(mine, reasonOf(error))
      })
      if (current !== mine) return await connection.close()
      mine.connection = connection
      mine.openedAt = monotonicNow()
      registry.begin(() => current === mine && isVerified(mine.session, monotonicNow()), logger)
      mine.pulse = setInterval(() => sendPulse(mine, connection), PULSE_EVERY_MS)
      sendPulse(mine, connection)
    } catch (error) {
      lose(mine, reasonOf(error))
    }
  }

  function sendPulse(mine: Listening, connection: NotificationChannel): void {
    const now = monotonicNow()
    if (isSilent(mine.session, mine.openedAt, now)) lose(mine, 'no pulse came back')
    else connection.notify(pulsePayload(mine.session, now)).catch((error: unknown) => lose(mine, reasonOf(error)))
  }

  function newListening(): Listening {
    const session = openSession(newId())
    const streams = createOpenStreams(session, () => resourceServers.list())
    const delivery = createOrderedDelivery({
      granted,
      audiences: streams.audiences,
      deliver: (notification, isAffected) => deliver(mine, notification, isAffected)
    })
    const mine: Listening = { session, streams, delivery, credentialChanges: 0, openedAt: monotonicNow() }
    return mine
  }

  function receiveRevocation(mine: Listening, payload: string): void {
    if (current !== mine) return
    const notification = readNotification(payload)
    if (notification.kind !== 'reset') {
      mine.delivery.take(notification)
      return
    }
    // At once, before waiting notifications: each guard clears its cache when its stream ends.
    mine.streams.endAll()
    receiveRegistryChange(mine, payload)
    logger?.warn({ event: 'tables_truncated' }, 'every stream ends, and the registry is read again')
  }

  function receiveRegistryChange(mine: Listening, payload: string): void {
    if (current !== mine || !registry.hear(payload)) return
    mine.credentialChanges += 1
    void mine.streams.checkCredentials()
  }

  function deliver(mine: Listening, notification: Notification, isAffected: Concerns): void {
    if (current !== mine) return
    const now = monotonicNow()
    if (notification.kind === 'ended') received += 1
    for (const frame of receive(mine.session, notification, now, isAffected)) mine.streams.write(frame)
    verifiedAt = Math.max(verifiedAt, mine.session.verifiedUntil - PROOF_MS)
    if (reported !== 'ready' && isVerified(mine.session, now)) {
      reported = 'ready'
      retryMs = FIRST_RETRY_MS
      logger?.info({ event: 'revocation_channel_ready', epoch: mine.session.epoch }, 'the revocation feed works')
    }
  }

  function lose(mine: Listening, reason: string): void {
    if (current !== mine) return
    losses += 1
    stopListening()
    if (reported !== 'lost') {
      reported = 'lost'
      logger?.warn({ event: 'revocation_channel_lost', reason }, 'no revocation feed; listening again')
    }
    // Half of it at random, so that many processes do not reconnect at once.
    retry = setTimeout(listen, retryMs * (0.5 + Math.random() / 2))
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
  }

  function stopListening(): void {
    const mine = current
    current = undefined
    clearInterval(mine?.pulse)
    mine?.delivery.stop()
    registry.end()
    mine?.connection?.close().catch(() => {})
    // A stream without notifications must not stay open: guards would trust it.
    mine?.streams.endAll()
  }

  /** @throws {StoreUnavailable} without a verified session */
  function verifiedSession(): Listening {
    if (current?.connection !== undefined && isVerified(current.session, monotonicNow())) return current
    throw new StoreUnavailable('postgres', new Error('the LISTEN connection is not verified'))
  }

  return {
    /** Connects, and reconnects whenever the connection is lost; never fails. */
    start(log: Logger): void {
      logger = log
      void listen()
    },

    /** Call this before the credential of a subscriber is looked up. */
    markCredentials: (): CredentialMark => ({ session: current?.session, changes: current?.credentialChanges }),

    /**
     * @param mark taken before the credential was looked up; if credentials may have changed since, they are checked again
     * @throws {StoreUnavailable} without a verified session, before anything is written
     */
    subscribe(credential: Credential, mark: CredentialMark, open: (onClose: () => void) => EventStream): void {
      const { session, streams, credentialChanges } = verifiedSession()
      streams.add(newId(), credential, open)
      if (mark.session !== session || mark.changes !== credentialChanges) void streams.checkCredentials()
    },

    /** Sends a guard's nonce to all instances, in order with the revocation events. @throws {StoreUnavailable} */
    async relay(stream: string, nonce: string): Promise<void> {
      const { connection } = verifiedSession()
      await connection?.notify(noncePayload(stream, nonce)).catch((error: unknown) => {
        throw new StoreUnavailable('postgres', error)
      })
    },

    /** The current state and the counts so far. Before the first proof, its age is counted from the start of this process. */
    state: () => ({
      isVerified: current?.connection !== undefined && isVerified(current.session, monotonicNow()),
      proofAgeMs: monotonicNow() - verifiedAt,
      subscribers: current?.streams.size() ?? 0,
      heard: received,
      losses
    }),

    endStreams(): void {
      current?.streams.endAll()
    },

    async close(): Promise<void> {
      clearTimeout(retry)
      const connection = current?.connection
      stopListening()
      await connection?.close()
    }
  }
}

/** Some connection errors of Node have a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}

export type RevocationChannel = ReturnType<typeof createRevocationChannel>
