import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClientRefusal, RefusalReason } from '../clients/document-refusal.js'
import { isLoopbackAddress, isPublicAddress } from './public-address.js'
import type { ResolvedAddress, ResolveHost } from './resolve-host.js'

export type FetchedDocument =
  | { kind: 'fetched'; text: string; cacheControl: string | undefined }
  | { kind: 'failed'; refusal: ClientRefusal }

export type FetchDeps = {
  resolve: ResolveHost
  /** `CLIENT_ID_METADATA_ALLOW_LOOPBACK` */
  allowsLoopback: boolean
  /** Certificates of trusted authorities instead of Node's, as PEM. */
  ca?: string | undefined
  /** The limit of a document. */
  maxBytes: number
  /** Ends the fetch, in whatever state it is: the limit of time. */
  signal: AbortSignal
}

/** The limit of a connection beside the document: handshake and headers. */
const MAX_OTHER_BYTES = 59 * 1024
const MAX_HEADER_BYTES = 16 * 1024
const WATCH_MS = 25
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json\s*(?:;|$)/i

class Failed extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason, detail: string, cause?: unknown) {
    super(detail, { cause })
    this.reason = reason
  }
}

/**
 * Fetches a JSON document from a host that no operator chose: a client id metadata document
 * (draft-ietf-oauth-client-id-metadata-document-02 §5, §8.6, §8.7) or the keys of a client. The address is checked
 * after the name is resolved, and the connection goes to the checked address: a second DNS response cannot change it.
 */
export async function fetchDocument(url: string, deps: FetchDeps): Promise<FetchedDocument> {
  try {
    const addresses = await resolveAndCheck(new URL(url).hostname, deps)
    return { kind: 'fetched', ...(await read(url, addresses, deps)) }
  } catch (error) {
    return { kind: 'failed', refusal: toRefusal(error, deps.signal) }
  }
}

function toRefusal(error: unknown, { aborted }: AbortSignal): ClientRefusal {
  if (error instanceof Failed) return { reason: error.reason, detail: error.message }
  return { reason: aborted ? 'document_timeout' : 'document_connection_failed', detail: '' }
}

async function resolveAndCheck(hostname: string, deps: FetchDeps): Promise<readonly ResolvedAddress[]> {
  const addresses = await resolveInTime(hostname, deps)
  const isAllowed = ({ address }: ResolvedAddress) =>
    isPublicAddress(address) || (deps.allowsLoopback && isLoopbackAddress(address))
  // One internal address among public ones is enough to refuse: the name is used to reach it.
  if (addresses.length === 0 || !addresses.every(isAllowed)) throw new Failed('document_address_refused', '')
  return addresses
}

async function resolveInTime(hostname: string, { resolve, signal }: FetchDeps): Promise<readonly ResolvedAddress[]> {
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new Failed('document_timeout', ''))
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([resolve(hostname, signal), aborted])
  } catch (error) {
    throw error instanceof Failed ? error : new Failed('document_unresolved', '', error)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function read(
  url: string,
  addresses: readonly ResolvedAddress[],
  deps: Pick<FetchDeps, 'ca' | 'maxBytes' | 'signal'>
): Promise<{ text: string; cacheControl: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, requestOptions(addresses, deps))
    const fail = (error: unknown) => {
      stopWatching()
      reject(error)
      sent.destroy()
    }
    const stopWatching = watchBytes(() => sent.socket as TLSSocket | null, deps.maxBytes + MAX_OTHER_BYTES, fail)
    sent.on('error', fail)
    // An interim response has no limit of its own.
    sent.on('information', () =>
      fail(new Failed('document_response_malformed', 'The server sent an interim response.'))
    )
    sent.on('upgrade', () => fail(new Failed('document_status', 'The server wants another protocol.')))
    sent.on('response', (response) => {
      readResponse(response, deps.maxBytes).then((read) => {
        stopWatching()
        resolve(read)
        sent.destroy()
      }, fail)
    })
    sent.end()
  })
}

function requestOptions(
  addresses: readonly ResolvedAddress[],
  { ca, signal }: Pick<FetchDeps, 'ca' | 'signal'>
): RequestOptions {
  // Node wants all addresses, or one, depending on its setting `autoSelectFamily`.
  const lookup: LookupFunction = (_hostname, options, done) => {
    const [first] = addresses
    if (options.all === true)
      done(
        null,
        addresses.map(({ address, family }) => ({ address, family }))
      )
    else done(null, first?.address ?? '', first?.family)
  }
  return {
    method: 'GET',
    agent: false,
    lookup,
    ca,
    signal,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'Valetkey' }
  }
}

/** Ends the fetch if the connection has received too much, also before a response and between its parts. */
function watchBytes(socket: () => TLSSocket | null, maxBytes: number, fail: (error: unknown) => void): () => void {
  const timer = setInterval(() => {
    if ((socket()?.bytesRead ?? 0) > maxBytes) {
      fail(new Failed('document_too_large', 'The server sends too much.'))
    }
  }, WATCH_MS)
  return () => clearInterval(timer)
}

async function readResponse(
  response: IncomingMessage,
  maxBytes: number
): Promise<{ text: string; cacheControl: string | undefined }> {
  const { statusCode = 0, headers } = response
  requireStatus(statusCode)
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw new Failed('document_media_type', 'The Content-Type of the document is not application/json.')
  }
  if (!['', 'identity'].includes(headers['content-encoding'] ?? '')) {
    throw new Failed('document_encoded', 'The document has a Content-Encoding.')
  }
  const tooLarge = () => new Failed('document_too_large', `The document is larger than ${maxBytes} bytes.`)
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return { text: decode(Buffer.concat(chunks)), cacheControl: headers['cache-control'] }
}

function requireStatus(status: number): void {
  if (status === 200) return
  const detail = `The server responded with status ${status}.`
  if (status >= 500 || status === 429 || status === 408) throw new Failed('document_server_error', detail)
  // A redirect would lend the name of this host to another one.
  if (status >= 300 && status < 400) throw new Failed('document_redirect', `${detail} Redirects are not followed.`)
  throw new Failed(status === 404 || status === 410 ? 'document_missing' : 'document_status', detail)
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new Failed('document_not_json', 'The document is not UTF-8.', error)
  }
}
