import { readFileSync } from 'node:fs'

const METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

export type Client = {
  id: string
  /** Undefined for a public client. */
  secret: string | undefined
  method: (typeof METHODS)[number]
  redirectUri: string
  /** Sent in authorization requests, if given. */
  scope: string | undefined
}

export type Clients = { client: Client; otherClient: Client | undefined }

/**
 * Reads the file of `--client`: JSON with `client_id`, `redirect_uri`, optionally `client_secret`, `token_endpoint_auth_method` and `scope`
 * (names of RFC 7591 §2), and optionally `other_client` with the same members.
 * @throws Error with the mistake
 */
export function readClientFile(file: string): Clients {
  let document: unknown
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)))
  } catch (error) {
    // The parser's message can quote the file, which holds a secret.
    const isOther = Object(error).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    const reason =
      error instanceof SyntaxError ? 'it is not JSON' : isOther ? 'it is not UTF-8' : (error as Error).message
    throw new Error(`cannot read ${file}: ${reason}`)
  }
  const record = recordOf(document, file)
  return {
    client: readClient(record, file),
    otherClient:
      record.other_client === undefined
        ? undefined
        : readClient(recordOf(record.other_client, `${file}: other_client`), `${file}: other_client`)
  }
}

function readClient(record: Record<string, unknown>, place: string): Client {
  const text = (name: string) => optionalText(record, name, place)
  const required = (name: string) => text(name) ?? fail(`${place}: ${name} is missing`)
  const secret = text('client_secret')
  const method = text('token_endpoint_auth_method') ?? (secret === undefined ? 'none' : 'client_secret_basic')
  const known = METHODS.find((one) => one === method)
  if (known === undefined) fail(`${place}: token_endpoint_auth_method must be one of ${METHODS.join(', ')}`)
  if ((known === 'none') !== (secret === undefined)) fail(`${place}: client_secret does not fit ${method}`)
  const redirectUri = required('redirect_uri')
  if (!URL.canParse(redirectUri)) fail(`${place}: redirect_uri is not a URL`)
  return { id: required('client_id'), secret, method: known, redirectUri, scope: text('scope') }
}

function optionalText(record: Record<string, unknown>, name: string, place: string): string | undefined {
  const value = record[name]
  if (value === undefined) return undefined
  return typeof value === 'string' && value !== '' ? value : fail(`${place}: ${name} must be a text`)
}

function recordOf(value: unknown, place: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(`${place}: not a JSON object`)
  return value as Record<string, unknown>
}

function fail(message: string): never {
  throw new Error(message)
}
