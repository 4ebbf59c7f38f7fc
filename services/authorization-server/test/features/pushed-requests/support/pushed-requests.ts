import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, REDIRECT_URI, type TestServer } from '../../../support/authorization-server.js'
import { basic, post } from '../../../support/flow.js'

export const PUSHED_PATH = '/oauth/par'
export const REQUEST_URN = 'urn:ietf:params:oauth:request_uri:'

type Change = Record<string, string | undefined>

/** The parameters of an authorization request as a client pushes it. */
export function requestOf({ clientId }: Pick<Credentials, 'clientId'>, change: Change = {}): Record<string, string> {
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope: 'files.read',
    state: 'pushed state',
    ...change
  }
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
}

/** Pushes a request of a confidential client. */
export function push(server: TestServer, client: Credentials, change: Change = {}): Promise<LightMyRequestResponse> {
  return post(server, PUSHED_PATH, requestOf(client, change), basic(client))
}

/** Pushes a request, which must be accepted. @returns the `request_uri` */
export async function pushed(server: TestServer, client: Credentials, change: Change = {}): Promise<string> {
  const answer = await push(server, client, change)
  if (answer.statusCode !== 201) throw new Error(`not pushed: ${answer.statusCode} ${answer.body}`)
  return answer.json().request_uri
}

/** The address to which the client sends the browser. */
export function pushedUrl({ clientId }: Pick<Credentials, 'clientId'>, requestUri: string, appended = ''): string {
  return `${ISSUER}/oauth/authorize?${new URLSearchParams({ client_id: clientId, request_uri: requestUri })}${appended}`
}

/** Pushes a request. @returns the address for the browser */
export async function pushedAddress(server: TestServer, client: Credentials, change: Change = {}): Promise<string> {
  return pushedUrl(client, await pushed(server, client, change))
}
