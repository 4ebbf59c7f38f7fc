import { connect, createServer, type Socket } from 'node:net'

export type FailingNetwork = {
  port: number
  /** Drops all data from now on; connections stay open. */
  freeze(): void
  /** Delays all data from now on, until `release` sends it in order. */
  hold(): void
  release(): void
  /** Drops all data on the connections that are open now; they stay open. New connections work. */
  strand(): void
  /** Closes every connection, and every new one. */
  cut(): void
  close(): Promise<void>
}

/** A network to a port of this machine that fails on demand. */
export async function startFailingNetwork(targetPort: number): Promise<FailingNetwork> {
  const sockets = new Set<Socket>()
  let state: 'works' | 'frozen' | 'held' | 'cut' = 'works'
  let waiting: (() => void)[] = []
  let stranded: ReadonlySet<Socket> = new Set()
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const listener = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => {
        if (stranded.has(from)) return
        if (state === 'works') to.write(chunk)
        if (state === 'held') waiting.push(() => to.write(chunk))
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        if (state !== 'frozen') to.destroy()
      })
    }
    if (state === 'cut') endAll()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    freeze() {
      state = 'frozen'
    },
    hold() {
      state = 'held'
    },
    release() {
      state = 'works'
      for (const send of waiting) send()
      waiting = []
    },
    strand() {
      stranded = new Set(sockets)
    },
    cut() {
      state = 'cut'
      endAll()
    },
    async close() {
      endAll()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    }
  }
}

/** The same address at another port. */
export function atPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.hostname = '127.0.0.1'
  changed.port = String(port)
  return changed.href
}
