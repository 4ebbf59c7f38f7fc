import { OAuthError, readClientCredentials } from '@valetkey/oauth-protocol'
import { decodeText } from '@valetkey/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authenticateResourceServer } from '../platform/client-authentication/authenticate-resource-server.js'
import { authorizationHeaders, NO_PARAMETERS } from '../platform/request-parts.js'
import type { Usage } from '../platform/usage.js'

/** The API whose credentials the request has. */
type Caller = { clientId: string; audience: string }

const CALLER = Symbol('valetkey.caller')
const CONTENT = Symbol('valetkey.content')

declare module 'fastify' {
  interface FastifyRequest {
    [CALLER]?: Caller
    /** The parsed body. `body` stays empty, because what records refusals reads it as a form. */
    [CONTENT]?: unknown
  }
}

export type CallerOptions = Parameters<typeof authenticateResourceServer>[2] & {
  /** Time of the last use of each resource server's credentials. */
  usage: Pick<Usage, 'note'>
}

/**
 * Makes the routes of this scope read JSON, from resource servers that authenticate with HTTP Basic: before the body is read, because a
 * stranger must not send one to be parsed. The other endpoints of the listener read forms.
 */
export function readJsonOfApis(internal: FastifyInstance, options: CallerOptions): void {
  internal.decorateRequest(CALLER, undefined)
  internal.decorateRequest(CONTENT, undefined)
  internal.addHook('onRequest', async (request) => {
    const credentials = readClientCredentials(authorizationHeaders(request), NO_PARAMETERS)
    const { clientId, audience } = await authenticateResourceServer(credentials, request.ip, options)
    options.usage.note(clientId)
    request[CALLER] = { clientId, audience }
  })
  const parse = internal.getDefaultJsonParser('error', 'error')
  internal.removeAllContentTypeParsers()
  internal.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const decoded = decodeText(body as Buffer)
    if ('problem' in decoded) done(new OAuthError('invalid_request', `The body ${decoded.problem}.`), undefined)
    else {
      parse(request, decoded.text, (error, content) => {
        request[CONTENT] = content
        done(error, undefined)
      })
    }
  })
  internal.addContentTypeParser('*', (_request, _payload, done) => {
    done(new OAuthError('invalid_request', 'The body must be application/json.'), undefined)
  })
}

export function callerOf(request: FastifyRequest): Caller {
  const caller = request[CALLER]
  if (caller === undefined) throw new Error('the request is not authenticated')
  return caller
}

/** The JSON value of the body. */
export const contentOf = (request: FastifyRequest): unknown => request[CONTENT]

export type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown, form: RegExp): value is string => typeof value === 'string' && form.test(value)

export function wrongMember(member: string, rule: string): OAuthError {
  return new OAuthError('invalid_request', `${member} must be ${rule}.`)
}
