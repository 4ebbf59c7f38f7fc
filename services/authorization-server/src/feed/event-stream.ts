import type { FastifyReply } from 'fastify'
import type { Frame } from './listen-session.js'

export type EventStream = { send(frame: Frame): void; end(): void }

/** A subscriber that has more unread bytes is disconnected: it reconnects and clears its cache. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** Opens a stream of server-sent events (WHATWG HTML §9.2) on a response, until either side closes it. */
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
  // A comment line, so that no timeout of a proxy or of this server closes a stream without events.
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
      // A subscriber that does not read would delay the end.
      if (raw.writableLength > 0) raw.destroy()
      else raw.end()
    }
  }
}
