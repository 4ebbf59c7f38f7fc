import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Answer } from './broken-apps.js'
import type { Has } from './faults.js'

type Authenticate = (header: string | undefined, query: URLSearchParams, form: URLSearchParams) => string | Answer

/** Takes pushed authorization requests, and finds them again for the browser. */
export function createPushEndpoint({ has, authenticate }: { has: Has; authenticate: Authenticate }) {
  const requests = new Map<string, URLSearchParams>()
  const json = (status: number, body: object): Answer => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })

  return {
    push({ headers }: IncomingMessage, form: URLSearchParams): Answer {
      const client = authenticate(headers.authorization, new URLSearchParams(), form)
      if (typeof client !== 'string' && !has('takes pushes of any client')) return client
      if (form.has('request_uri') && !has('takes request_uri in pushes')) return json(400, { error: 'invalid_request' })
      const requestUri = `urn:ietf:params:oauth:request_uri:${randomUUID()}`
      const request = new URLSearchParams(form)
      request.delete('client_secret')
      if (typeof client === 'string') request.set('client_id', client)
      requests.set(requestUri, request)
      return json(has('responds with 200 to pushes') ? 200 : 201, { request_uri: requestUri, expires_in: 60 })
    },

    /** @param decides whether the user decides, which uses the request up */
    take(query: URLSearchParams, decides: boolean): URLSearchParams | undefined {
      const requestUri = query.get('request_uri') ?? ''
      const request = requests.get(requestUri)
      const isOwn = request?.get('client_id') === query.get('client_id')
      if (request === undefined || !(isOwn || has('does not compare clients of pushed requests'))) return undefined
      const isUsed = decides ? !has('takes pushed requests twice') : has('uses pushed requests up at the visit')
      if (isUsed) requests.delete(requestUri)
      return request
    }
  }
}
