import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import { type Credential, createCredentialCheck, type Subscriber } from './credential-check.js'
import type { EventStream } from './event-stream.js'
import { closeStream, type Frame, type ListenSession, openStream } from './listen-session.js'

/** The open streams of one LISTEN session, each with the credential that opened it. */
export function createOpenStreams(session: ListenSession, list: ResourceServerStore['list']) {
  const subscribers = new Map<string, Subscriber>()

  function remove(id: string): void {
    subscribers.delete(id)
    closeStream(session, id)
  }

  function end(id: string): void {
    const subscriber = subscribers.get(id)
    // Removed first: nothing may be written to a stream after its end.
    remove(id)
    subscriber?.stream.end()
  }

  return {
    size: (): number => subscribers.size,

    audiences: (): ReadonlySet<string> =>
      new Set([...subscribers.values()].map(({ credential }) => credential.audience)),

    add(id: string, credential: Credential, open: (onClose: () => void) => EventStream): void {
      const stream = open(() => remove(id))
      subscribers.set(id, { stream, credential })
      stream.send(openStream(session, id, credential.audience))
    },

    write(frame: Frame): void {
      subscribers.get(frame.stream)?.stream.send(frame)
    },

    endAll(): void {
      for (const id of [...subscribers.keys()]) end(id)
    },

    /** Ends the streams whose credential is no longer valid. */
    checkCredentials: createCredentialCheck({ list, subscribers, end })
  }
}
