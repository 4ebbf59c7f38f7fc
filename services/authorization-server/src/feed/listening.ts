import type { Logger } from '@valetkey/service-kit'
import type { GrantedAudiences } from '../storage/postgres/granted-audiences.js'
import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import { type Concerns, openSession, receive } from './listen-session.js'
import { type Notification, readNotification } from './notification.js'
import { createOpenStreams } from './open-streams.js'
import { createOrderedDelivery } from './ordered-delivery.js'

/** A cache that changes of the registry invalidate. It receives them in order, and may be used while the session is verified. */
export type RegistryFollower = {
  begin(isVerified: () => boolean, logger: Logger | undefined): void
  /** @returns whether credentials of resource servers may have changed */
  applyChange(payload: string): boolean
  end(): void
}

export type ListeningDeps = {
  registry: Pick<RegistryFollower, 'applyChange'>
  resourceServers: Pick<ResourceServerStore, 'list'>
  grantedAudiences: GrantedAudiences
  newId(): string
  /** Milliseconds of a clock that is never set back. */
  monotonicNow(): number
}

/**
 * One LISTEN session with its streams: receives notifications and writes events.
 * @param onDelivered called after the events of a notification were written
 */
export function createListening(
  { registry, resourceServers, grantedAudiences, newId, monotonicNow }: ListeningDeps,
  logger: Logger | undefined,
  onDelivered: (notification: Notification) => void
) {
  const session = openSession(newId())
  const streams = createOpenStreams(session, () => resourceServers.list())
  const delivery = createOrderedDelivery({ grantedAudiences, audiences: streams.audiences, deliver })
  let credentialChanges = 0
  let isStopped = false

  function deliver(notification: Notification, isAffected: Concerns): void {
    if (isStopped) return
    for (const frame of receive(session, notification, monotonicNow(), isAffected)) streams.write(frame)
    onDelivered(notification)
  }

  function receiveRegistryChange(payload: string): void {
    if (isStopped || !registry.applyChange(payload)) return
    credentialChanges += 1
    void streams.checkCredentials()
  }

  function receiveRevocation(payload: string): void {
    if (isStopped) return
    const notification = readNotification(payload)
    if (notification.kind !== 'reset') {
      delivery.take(notification)
      return
    }
    // Streams end at once, before waiting notifications: each guard clears its cache when its stream ends.
    streams.endAll()
    receiveRegistryChange(payload)
    logger?.warn({ event: 'tables_truncated' }, 'every stream ends, and the registry is read again')
  }

  return {
    session,
    streams,
    /** Number of possible changes of resource server credentials. */
    credentialChanges: (): number => credentialChanges,
    handlers: { revocation: receiveRevocation, registryChange: receiveRegistryChange },

    /** Ignores all notifications from now on. The streams stay open until `streams.endAll()`. */
    stop(): void {
      isStopped = true
      delivery.stop()
    }
  }
}

export type Listening = ReturnType<typeof createListening>
