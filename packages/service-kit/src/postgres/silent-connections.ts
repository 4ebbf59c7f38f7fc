import type { Socket } from 'node:net'
import type { ClientBase, PoolClient } from 'pg'

/**
 * Recognizes connections whose server may be gone. When a machine fails or a network splits, connections stay open and no
 * response ever arrives. Without this, each idle connection of a pool would fail one more statement, after its time limit, even
 * if another server has long taken over (ADR 0038).
 */
export function watchSilence() {
  const respondedAt = new WeakMap<ClientBase, number>()
  let silentSince = Number.NEGATIVE_INFINITY
  return {
    /** Callers call this for each new connection and for each response, errors of Postgres included. */
    noteResponse(client: ClientBase): void {
      respondedAt.set(client, performance.now())
    },

    /** @param sentAt time of sending, by `performance.now()`, of a statement without a response */
    noteSilence(sentAt: number): void {
      silentSince = Math.max(silentSince, sentAt)
    },

    /** Whether nothing has arrived on this connection since a statement on another one got no response. */
    isSuspect: (client: ClientBase): boolean => (respondedAt.get(client) ?? Number.POSITIVE_INFINITY) < silentSince
  }
}

export type Silence = ReturnType<typeof watchSilence>

/** Removes a connection from its pool, without waiting for the server to close it. */
export function discard(client: PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  client.release(true)
  // Afterwards, so that the driver does not report the end as an error. The pool serves waiting statements when it ends.
  stream.destroy()
}
