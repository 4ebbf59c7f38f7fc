import type { Client } from './client-file.js'
import type { Received } from './http.js'
import { parseObject } from './metadata.js'
import { failed, type Outcome, passed } from './outcome.js'
import type { Session } from './session.js'

export type Fields = Record<string, string | undefined> | readonly (readonly [string, string])[]

/**
 * Sends a form with the client's own authentication (RFC 6749 §2.3.1); without a client, as it is.
 * @param proof for the header `DPoP`
 */
export function postForm(
  session: Session,
  url: string,
  fields: Fields,
  client?: Client,
  proof?: string
): Promise<Received> {
  const form = formOf(fields)
  const headers: Record<string, string> = { accept: 'application/json', ...(proof !== undefined && { dpop: proof }) }
  if (client?.method === 'client_secret_basic') headers.authorization = basicHeader(client.id, client.secret ?? '')
  else if (client !== undefined) {
    form.append('client_id', client.id)
    if (client.secret !== undefined) form.append('client_secret', client.secret)
  }
  return sendForm(session, url, form, headers)
}

export function postToken(session: Session, fields: Fields, client?: Client, proof?: string): Promise<Received> {
  return postForm(session, session.metadata.tokenEndpoint, fields, client, proof)
}

export function sendForm(
  session: Session,
  url: string,
  form: URLSearchParams,
  headers: Record<string, string>
): Promise<Received> {
  const contentType = 'application/x-www-form-urlencoded'
  return session.send({ method: 'POST', url, headers: { 'content-type': contentType, ...headers }, body: `${form}` })
}

export function formOf(fields: Fields): URLSearchParams {
  const entries = isList(fields) ? fields : Object.entries(fields)
  const form = new URLSearchParams()
  for (const [name, value] of entries) if (value !== undefined) form.append(name, value)
  return form
}

function isList(fields: Fields): fields is Extract<Fields, readonly unknown[]> {
  return Array.isArray(fields)
}

/** Both parts are form-encoded first (RFC 6749 §2.3.1). */
export function basicHeader(id: string, secret: string): string {
  const encode = (text: string) => `${new URLSearchParams([['', text]])}`.slice(1)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

/** The members of a token response, and of an error; a body that is no JSON object has none. */
export function tokenMembers(session: Session, { body }: Received): Record<string, unknown> {
  const members = parseObject(body) ?? {}
  for (const name of ['access_token', 'refresh_token', 'id_token']) {
    const value = members[name]
    if (typeof value === 'string') session.remember(value)
  }
  return members
}

/** Passed if the response is one of these errors with 400, or 401 for `invalid_client` (RFC 6749 §5.2). */
export function expectTokenError(session: Session, response: Received, errors: readonly string[]): Outcome {
  const { access_token: accessToken, error } = tokenMembers(session, response)
  if (accessToken !== undefined) return failed('the server issued an access token')
  const expected = `expected ${errors.join(' or ')}`
  if (typeof error !== 'string') return failed(`status ${response.status} without an error code, ${expected}`)
  if (!errors.includes(error)) return failed(`error is ${error}, ${expected}`)
  const isRightStatus = response.status === 400 || (response.status === 401 && error === 'invalid_client')
  return isRightStatus ? passed : failed(`status is ${response.status} with ${error}, expected 400`)
}
