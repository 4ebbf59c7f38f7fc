import type { Socket } from 'node:net'

/** The connection of a client, as the response of `node:http` has it. */
export type ClientConnection = {
  readonly destroyed: boolean
  readonly socket: Pick<Socket, 'once'> | null
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** A client that resets its connection within this time after the response has not read it. */
const UNREAD_MS = 1_000

type Response = { at: number; onUnread: () => unknown }
const lastResponses = new WeakMap<object, Response>()

/**
 * Calls `onUnread` if the client resets the connection right after the response, which the network reports only afterwards. A
 * connection has one listener, however many responses it carries: a client that sends its next request has read the last one.
 */
export function whenUnread({ socket }: ClientConnection, onUnread: () => unknown): void {
  if (socket === null) return
  const isWatched = lastResponses.has(socket)
  lastResponses.set(socket, { at: performance.now(), onUnread })
  if (isWatched) return
  socket.once('close', (hadError: boolean) => {
    const last = lastResponses.get(socket)
    if (hadError && last !== undefined && performance.now() - last.at < UNREAD_MS) last.onUnread()
  })
}
