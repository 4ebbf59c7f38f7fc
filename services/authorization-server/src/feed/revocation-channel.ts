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

/** What is heard on the LISTEN connection, in the order of the commits. */
export type Ear = {
  revocation(payload: string): void
  registryChange(payload: string): void
  lost(error: Error): void
}

/** Whoever keeps in memory what changes of the registry end: it hears them in order, and may ask for the same proof. */
export type RegistryFollower = {
  begin(isVerified: () => boolean, logger: Logger | undefined): void
  /** @returns whether credentials of resource servers may have changed */
  hear(payload: string): boolean
  end(): void
}

export type ChannelDeps = {
  connect(ear: Ear): Promise<NotificationChannel>
  registry: RegistryFollower
  resourceServers: Pick<ResourceServerStore, 'list'>
  granted: GrantedAudiences
  newId(): string
  /** Milliseconds of a clock that nobody sets. */
  monotonicNow(): number
}

const PULSE_EVERY_MS = 250
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/** A moment before a credential is looked up: the session of then, and how often credentials had changed in it. */
export type CredentialMark = { session: ListenSession | undefined; changes: number | undefined }

type Listening = {
  session: ListenSession
  streams: OpenStreams
  delivery: OrderedDelivery
  /** How often credentials of resource servers may have changed. */
  credentialChanges: number
  openedAt: number
  connection?: NotificationChannel
  pulse?: NodeJS.Timeout
}

/**
 * This process's ear on what Postgres announces: holds the LISTEN connection and the streams of deaths that are fed by it.
 * Changes of the registry stay within the process.
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
  let heard = 0
  let losses = 0

  async function listen(): Promise<void> {
    const mine = newListening()
    current = mine
    try {
      const connection = await connect({
        revocation: (payload) => hearEnding(mine, payload),
        registryChange: (payload) => hearRegistryChange(mine, payload),
        lost: (error) => lose(mine, reasonOf(error))
      })
      if (current !== mine) return await connection.close()
      mine.connection = connection
      mine.openedAt = monotonicNow()
      registry.begin(() => current === mine && isVerified(mine.session, monotonicNow()), logger)
      mine.pulse = setInterval(() => beat(mine, connection), PULSE_EVERY_MS)
      beat(mine, connection)
    } catch (error) {
      lose(mine, reasonOf(error))
    }
  }

  function beat(mine: Listening, connection: NotificationChannel): void {
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
      deliver: (notification, concerns) => deliver(mine, notification, concerns)
    })
    const mine: Listening = { session, streams, delivery, credentialChanges: 0, openedAt: monotonicNow() }
    return mine
  }

  function hearEnding(mine: Listening, payload: string): void {
    if (current !== mine) return
    const notification = readNotification(payload)
    if (notification.kind !== 'reset') {
      mine.delivery.take(notification)
      return
    }
    // At once, whatever waits: each guard drops all it keeps when its stream ends.
    mine.streams.endAll()
    hearRegistryChange(mine, payload)
    logger?.warn({ event: 'tables_truncated' }, 'every stream ends, and the registry is read again')
  }

  function hearRegistryChange(mine: Listening, payload: string): void {
    if (current !== mine || !registry.hear(payload)) return
    mine.credentialChanges += 1
    void mine.streams.checkCredentials()
  }

  function deliver(mine: Listening, notification: Notification, concerns: Concerns): void {
    if (current !== mine) return
    const now = monotonicNow()
    if (notification.kind === 'ended') heard += 1
    for (const frame of receive(mine.session, notification, now, concerns)) mine.streams.write(frame)
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
    // Half of it at random, so that many processes do not come back at once.
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
    // Nobody may go on trusting a stream that hears nothing.
    mine?.streams.endAll()
  }

  /** @throws {StoreUnavailable} unless this process has a proved session */
  function proved(): Listening {
    if (current?.connection !== undefined && isVerified(current.session, monotonicNow())) return current
    throw new StoreUnavailable('postgres', new Error('no proved LISTEN session'))
  }

  return {
    /** Listens from now on, and again whenever it is lost; never fails. */
    start(log: Logger): void {
      logger = log
      void listen()
    },

    /** To be taken before the credential of a subscriber is looked up. */
    markCredentials: (): CredentialMark => ({ session: current?.session, changes: current?.credentialChanges }),

    /**
     * @param mark from before the credential was looked up; if credentials have changed since then, they are read again
     * @throws {StoreUnavailable} unless this process has a proved session; nothing has been written then
     */
    subscribe(credential: Credential, mark: CredentialMark, open: (onClose: () => void) => EventStream): void {
      const { session, streams, credentialChanges } = proved()
      streams.add(newId(), credential, open)
      if (mark.session !== session || mark.changes !== credentialChanges) void streams.checkCredentials()
    },

    /** Passes a guard's nonce on to all instances, in order with the deaths around it. @throws {StoreUnavailable} */
    async relay(stream: string, nonce: string): Promise<void> {
      const { connection } = proved()
      await connection?.notify(noncePayload(stream, nonce)).catch((error: unknown) => {
        throw new StoreUnavailable('postgres', error)
      })
    },

    /** How it stands now, and what it has seen so far. Before the first proof the age is that of this process. */
    state: () => ({
      isVerified: current?.connection !== undefined && isVerified(current.session, monotonicNow()),
      proofAgeMs: monotonicNow() - verifiedAt,
      subscribers: current?.streams.size() ?? 0,
      heard,
      losses
    }),

    /** @throws {StoreUnavailable} unless this process has a proved session */
    mustBeVerified(): void {
      proved()
    },

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

/** Node gives some failures of connecting a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}

export type RevocationChannel = ReturnType<typeof createRevocationChannel>
