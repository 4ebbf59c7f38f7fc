import type { FastifyReply } from 'fastify'
import type { Frame } from './listen-session.js'

export type EventStream = { send(frame: Frame): void; end(): void }

/** A subscriber that is so far behind gets a fresh start: it reconnects and empties its cache. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** Turns an answer into server-sent events (WHATWG HTML §9.2) that stay open until either side ends them. */
export function openEventStream(
  reply: FastifyReply,
  { keepAliveMs, onClose }: { keepAliveMs: number; onClose: () => void }
): EventStream {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-store'
  })
  const write = (text: string): void => {
    raw.write(text)
    if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy()
  }
  // A comment, so that no time-out on the way, ours included, takes a quiet stream for a dead one.
  const keepAlive = setInterval(() => write(':\n\n'), keepAliveMs)
  raw.on('error', () => {})
  raw.once('close', () => {
    clearInterval(keepAlive)
    onClose()
  })
  return {
    send({ event, id, data }) {
      write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`)
    },
    end() {
      clearInterval(keepAlive)
      // One that does not read would hold up the end.
      if (raw.writableLength > 0) raw.destroy()
      else raw.end()
    }
  }
}
