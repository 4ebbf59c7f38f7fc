import { connect } from 'node:net'
import * as oauth from 'oauth4webapi'

/** `Headers` joins repeated fields; `fields` has each of them. */
export type RawAnswer = { status: number; headers: Headers; fields: readonly string[]; body: string }

/**
 * Sends exactly these bytes and returns the first response. The request may be incomplete: nothing is sent after it, and
 * the server may respond early.
 */
export async function sendRaw(port: number, request: string): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1')
  // Latin-1: one character, one byte.
  socket.write(Buffer.from(request, 'latin1'))
  let answer = ''
  socket.setEncoding('latin1')
  try {
    for await (const part of socket) {
      answer += part
      if (isComplete(answer)) break
    }
  } finally {
    socket.destroy()
  }
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  )
  return { status: Number(statusLine.split(' ')[1]), headers, fields: lines, body }
}

function isComplete(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = Number(/^content-length: (\d+)/im.exec(answer.slice(0, end))?.[1] ?? 0)
  return answer.length - end - 4 >= length
}

export type Challenge = { scheme: string; parameters: Record<string, string | undefined> }

/** The challenges of a response, parsed by a client library. */
export async function challengesOf({ status, headers }: Pick<RawAnswer, 'status' | 'headers'>): Promise<Challenge[]> {
  const answer = new Response(null, { status, headers: { 'www-authenticate': headers.get('www-authenticate') ?? '' } })
  const url = new URL('https://api.example/')
  const outcome = oauth.protectedResourceRequest('a-token', 'GET', url, undefined, undefined, {
    [oauth.customFetch]: async () => answer
  })
  return outcome.then(
    () => [],
    (error) => {
      if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error
      return error.cause.map(({ scheme, parameters }) => ({ scheme, parameters: { ...parameters } }))
    }
  )
}
