import { isIP } from 'node:net'

type ListenAddress = { host: string; port: number }

/** Reads `host:port`, `[::1]:port` or `:port`. */
export function readListenAddress(text: string): ListenAddress | undefined {
  const [, inBrackets, name = '', digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65535) return undefined
  if (inBrackets !== undefined) return isIP(inBrackets) === 6 ? { host: inBrackets, port } : undefined
  // Digits and dots are an IPv4 address; another name is resolved when the service listens.
  const isHost = name === '' || /[^\d.]/.test(name) || isIP(name) === 4
  return isHost ? { host: name || '0.0.0.0', port } : undefined
}

/** Addresses of pages and endpoints become headers and requests, which refuse other characters and user names. */
export function problemOfWebAddress(value: string, url: URL): string | undefined {
  if (!/^https?:$/.test(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '') return 'must have neither user name nor password'
  if (/[^\x21-\x7e]/.test(value)) return `must be written in its normal form, ${url.href}`
  return url.hash === '' ? undefined : 'must have no fragment'
}
