import type { IncomingMessage } from 'node:http'
import type { UnreadableRequest } from './problem.js'

type Read = Pick<UnreadableRequest, 'target' | 'accept' | 'acceptLanguage'>

const NOTHING: Read = { target: undefined, accept: undefined, acceptLanguage: undefined }

/** What a request says about the response that it wants. */
export function readWanted({ url, headers }: Pick<IncomingMessage, 'url' | 'headers'>): Read {
  return { target: url, accept: headers.accept, acceptLanguage: headers['accept-language'] }
}

/**
 * The same of bytes that Node could not parse. They are only a part of the request, and may be anything: what is found here
 * decides nothing but the form of the error.
 */
export function readWantedBytes(bytes: unknown): Read {
  if (!Buffer.isBuffer(bytes)) return NOTHING
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n', 1)
  const [line = '', ...fields] = head.split('\r\n')
  const fieldOf = (name: string) =>
    fields.find((field) => field.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1)
  const target = /^[A-Z]+ (\/[^ ]*)/.exec(line)?.[1]
  return { target, accept: fieldOf('accept')?.trim(), acceptLanguage: fieldOf('accept-language')?.trim() }
}
