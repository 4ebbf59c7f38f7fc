import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** A response as received. Header names are in lower case. */
type RawAnswer = { status: number; headers: Record<string, string>; body: string }

/** The responses of a connection; `isClosed` if the server ended it. */
export type RawExchange = { answers: readonly RawAnswer[]; isClosed: boolean }

/** Opens a listener of a test server on a free port of the loopback interface. */
export async function listenOnFreePort(server: FastifyInstance): Promise<number> {
  await server.listen({ host: '127.0.0.1', port: 0 })
  return portOf(server)
}

export function portOf(server: FastifyInstance): number {
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen')
  return address.port
}

// Only ends a hang.
const FIRST_ANSWER_MS = 120_000

/**
 * Sends exactly these bytes on a new connection and collects the responses, until the server closes it or is silent for
 * `quietMs` after a response.
 */
export async function sendRaw(port: number, bytes: string | Buffer, { quietMs = 250 } = {}): Promise<RawExchange> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(bytes)
  const isClosed = await endOrQuiet(socket, quietMs)
  socket.destroy()
  return { answers: parseAnswers(Buffer.concat(chunks).toString('latin1')), isClosed }
}

function endOrQuiet(socket: Socket, quietMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let timer = setTimeout(() => resolve(false), FIRST_ANSWER_MS)
    socket.on('data', () => {
      clearTimeout(timer)
      timer = setTimeout(() => resolve(false), quietMs)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}

/** A request with a Host header and the given headers. */
export function rawRequest(line: string, lines: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost:4000', ...lines, '', body].join('\r\n')
}

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end < 0 ? undefined : end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      })
    )
    const bodyStart = end < 0 ? rest.length : end + 4
    const length = Number(headers['content-length'] ?? 0)
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body: rest.slice(bodyStart, bodyStart + length) })
    rest = rest.slice(bodyStart + length)
  }
  return answers
}
