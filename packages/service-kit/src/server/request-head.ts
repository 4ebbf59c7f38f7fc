import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'

type HeadProblem = 'NO_HOST' | 'REPEATED_HOST' | 'BAD_HOST' | 'REPEATED_TYPE'

// RFC 3986 §3.2.2: an IP literal or a non-empty name, and an optional port.
const HOST = /^(?:\[([0-9a-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::\d*)?$/i

/**
 * Finds problems of the header section that Node accepts. Node uses the first of two Host or Content-Type lines, but a proxy
 * may use the last (RFC 9112 §3.2, RFC 9110 §5.3). Runs for every request, so it does not allocate.
 */
export function problemOfHead({
  httpVersion,
  rawHeaders
}: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): HeadProblem | undefined {
  let host: string | undefined
  let hasType = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') {
      if (host !== undefined) return 'REPEATED_HOST'
      host = rawHeaders[index + 1] ?? ''
    } else if (name.length === 12 && name.toLowerCase() === 'content-type') {
      if (hasType) return 'REPEATED_TYPE'
      hasType = true
    }
  }
  if (host === undefined) return httpVersion === '1.1' ? 'NO_HOST' : undefined
  return isHost(host) ? undefined : 'BAD_HOST'
}

function isHost(text: string): boolean {
  const match = HOST.exec(text)
  return match !== null && (match[1] === undefined || isIPv6(match[1]))
}
