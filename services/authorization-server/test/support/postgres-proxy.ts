import { connect, createServer, type Socket } from 'node:net'

export type PostgresProxy = {
  url: string
  /** Ends every connection, also new ones. */
  cut(): void
  repair(): void
  /** The next statement with this name is executed by Postgres; its response is lost. */
  loseAnswerTo(statement: string, times?: number): void
  /** The next statement with this name is lost; `times` for several in sequence. */
  loseStatement(statement: string, times?: number): void
  close(): Promise<void>
}

/** A network between an instance and Postgres that fails on demand. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isCut = false
  let losing: { statement: string; what: 'answer' | 'statement'; times: number } | undefined

  const listener = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    if (isCut) end()
    let answerIsLost = false
    client.on('data', (chunk) => {
      if (losing === undefined || !chunk.includes(losing.statement)) return upstream.write(chunk)
      const { what } = losing
      losing.times -= 1
      if (losing.times === 0) losing = undefined
      if (what === 'statement') return end()
      answerIsLost = true
      return upstream.write(chunk)
    })
    // Postgres sends nothing before the statement is committed.
    upstream.on('data', (chunk) => (answerIsLost ? end() : client.write(chunk)))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' ? address?.port : undefined)

  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut() {
      isCut = true
      endAll()
    },
    repair() {
      isCut = false
    },
    loseAnswerTo(statement, times = 1) {
      losing = { statement, what: 'answer', times }
    },
    loseStatement(statement, times = 1) {
      losing = { statement, what: 'statement', times }
    },
    async close() {
      endAll()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    }
  }
}
