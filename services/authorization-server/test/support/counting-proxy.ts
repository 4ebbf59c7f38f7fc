import { connect, createServer, type Socket } from 'node:net'
import { atPort } from './failing-network.js'

/** Reads the requests of a connection, in chunks of any size. */
export type Listener = (bytes: Buffer) => void

export type CountingProxy = {
  /** The URL of the server with the address of this proxy. */
  url: string
  /** Delays the server's responses from now on, except on these connections. */
  hold(except: ReadonlySet<number>): void
  release(): void
  close(): Promise<void>
}

/** A proxy between a client and its server. `listen` reads the requests of the client. */
export async function startCountingProxy(
  targetUrl: string,
  listen: (connection: number) => Listener
): Promise<CountingProxy> {
  const target = new URL(targetUrl)
  const links = new Set<{ near: Socket; far: Socket; connection: number }>()
  let connections = 0
  let isHeld = false
  const proxy = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const connection = ++connections
    const link = { near, far, connection }
    const hear = listen(connection)
    links.add(link)
    near.on('data', (bytes) => {
      hear(bytes)
      far.write(bytes)
    })
    far.on('data', (bytes) => near.write(bytes))
    if (isHeld) far.pause()
    const end = () => {
      links.delete(link)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.setNoDelay(true).on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  return {
    url: atPort(targetUrl, typeof address === 'object' ? (address?.port ?? 0) : 0),
    hold(except) {
      isHeld = true
      for (const { far, connection } of links) if (!except.has(connection)) far.pause()
    },
    release() {
      isHeld = false
      for (const { far } of links) far.resume()
    },
    async close() {
      for (const { near, far } of links) {
        near.destroy()
        far.destroy()
      }
      await new Promise<void>((resolve) => proxy.close(() => resolve()))
    }
  }
}
