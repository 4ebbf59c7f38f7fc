import { type Logger, type NotificationChannel, StoreUnavailable } from '@valetkey/service-kit'
import type { Credential } from './credential-check.js'
import type { EventStream } from './event-stream.js'
import { createListenConnection } from './listen-connection.js'
import { isVerified, type ListenSession, noncePayload } from './listen-session.js'
import type { Listening } from './listening.js'

/** The session and its number of credential changes, taken before a credential is looked up. */
export type CredentialMark = { session: ListenSession | undefined; changes: number | undefined }

/** Forwards revocation events from Postgres to the open streams, and registry changes to the cache of this process. */
export function createRevocationChannel(deps: Parameters<typeof createListenConnection>[0]) {
  const { newId, monotonicNow } = deps
  const connection = createListenConnection(deps)

  function findVerified(): { listening: Listening; channel: NotificationChannel } | undefined {
    const { listening, channel } = connection.current() ?? {}
    if (listening === undefined || channel === undefined) return undefined
    return isVerified(listening.session, monotonicNow()) ? { listening, channel } : undefined
  }

  /** @throws {StoreUnavailable} without a verified session */
  function requireVerified() {
    const found = findVerified()
    if (found !== undefined) return found
    throw new StoreUnavailable('postgres', new Error('the LISTEN connection is not verified'))
  }

  return {
    /** Connects, and reconnects whenever the connection is lost; never fails. */
    start: (log: Logger): void => connection.start(log),

    /** Call this before the credential of a subscriber is looked up. */
    markCredentials(): CredentialMark {
      const listening = connection.current()?.listening
      return { session: listening?.session, changes: listening?.credentialChanges() }
    },

    /**
     * @param mark taken before the credential was looked up; if credentials may have changed since, they are checked again
     * @throws {StoreUnavailable} without a verified session, before anything is written
     */
    subscribe(credential: Credential, mark: CredentialMark, open: (onClose: () => void) => EventStream): void {
      const { session, streams, credentialChanges } = requireVerified().listening
      streams.add(newId(), credential, open)
      if (mark.session !== session || mark.changes !== credentialChanges()) void streams.checkCredentials()
    },

    /** Sends a guard's nonce to all instances, in order with the revocation events. @throws {StoreUnavailable} */
    async relay(stream: string, nonce: string): Promise<void> {
      const { channel } = requireVerified()
      await channel.notify(noncePayload(stream, nonce)).catch((error: unknown) => {
        throw new StoreUnavailable('postgres', error)
      })
    },

    /** The current state and the counts so far. Before the first proof, its age is counted from the start of this process. */
    state: () => ({
      isVerified: findVerified() !== undefined,
      proofAgeMs: monotonicNow() - connection.counts.verifiedAt,
      subscribers: connection.current()?.listening.streams.size() ?? 0,
      receivedRevocations: connection.counts.revocations,
      losses: connection.counts.losses
    }),

    endStreams(): void {
      connection.current()?.listening.streams.endAll()
    },

    close: (): Promise<void> => connection.close()
  }
}

export type RevocationChannel = ReturnType<typeof createRevocationChannel>
