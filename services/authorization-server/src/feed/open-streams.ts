import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import { type Credential, createCredentialCheck, type Subscriber } from './credential-check.js'
import type { EventStream } from './event-stream.js'
import { closeStream, type Frame, type ListenSession, openStream } from './listen-session.js'

/** The streams that one LISTEN session feeds, each with the credential that opened it. */
export function createOpenStreams(session: ListenSession, list: ResourceServerStore['list']) {
  const subscribers = new Map<string, Subscriber>()

  function forget(id: string): void {
    subscribers.delete(id)
    closeStream(session, id)
  }

  function end(id: string): void {
    const subscriber = subscribers.get(id)
    // First of all: nothing may be written behind its end.
    forget(id)
    subscriber?.stream.end()
  }

  return {
    size: (): number => subscribers.size,

    audiences: (): ReadonlySet<string> =>
      new Set([...subscribers.values()].map(({ credential }) => credential.audience)),

    add(id: string, credential: Credential, open: (onClose: () => void) => EventStream): void {
      const stream = open(() => forget(id))
      subscribers.set(id, { stream, credential })
      stream.send(openStream(session, id, credential.audience))
    },

    write(frame: Frame): void {
      subscribers.get(frame.stream)?.stream.send(frame)
    },

    endAll(): void {
      for (const id of [...subscribers.keys()]) end(id)
    },

    /** Ends the streams whose credential does not open the feed any more. */
    checkCredentials: createCredentialCheck({ list, subscribers, end })
  }
}

export type OpenStreams = ReturnType<typeof createOpenStreams>
