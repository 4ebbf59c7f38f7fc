// The image has no curl: requests /readyz at the operator listener of this container.
// Its one argument is the listener's address, host:port or :port.
import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

const [, name = '', port = ''] = /^(.*):(\d+)$/.exec(process.argv[2] ?? '') ?? []

try {
  const host = name === '' || name === '0.0.0.0' ? '127.0.0.1' : isIpv6(name) ? name : await ownAddress()
  const answer = await fetch(`http://${host}:${port}/readyz`, { signal: AbortSignal.timeout(4_000) })
  process.exitCode = answer.ok ? 0 : 1
} catch {
  process.exitCode = 1
}

/** The address has brackets, as in a URL. */
function isIpv6(text) {
  return text.startsWith('[')
}

/** A name may be that of several containers. */
async function ownAddress() {
  const own = Object.values(networkInterfaces()).flatMap((found) => found.map(({ address }) => address))
  const found = (await lookup(name, { all: true })).find(({ address }) => own.includes(address))
  if (found === undefined) return name
  return found.family === 6 ? `[${found.address}]` : found.address
}
