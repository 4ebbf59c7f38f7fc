import { OAuthError, readClientCredentials } from '@valetkey/oauth-protocol'
import { decodeText } from '@valetkey/service-kit'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { authenticateResourceServer } from '../../platform/client-authentication/authenticate-resource-server.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { authorizationHeaders, NO_PARAMETERS } from '../../platform/request-parts.js'
import type { Usage } from '../../platform/usage.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { AppUseStore, IgnoredUse, Reporter } from './app-use-store.js'
import { readReport } from './read-report.js'

/** Bytes: 500 uses with the longest names and numbers. */
const BODY_LIMIT = 128 * 1024

const RESULT = {
  type: 'object',
  required: ['counted', 'repeated', 'ignored'],
  properties: {
    counted: { type: 'integer', description: 'uses that were added now' },
    repeated: { type: 'boolean', description: 'the report was received before, so nothing was added' },
    ignored: {
      type: 'array',
      items: {
        type: 'object',
        required: ['row', 'reason'],
        properties: {
          row: { type: 'integer', description: 'place in the report, from 0' },
          reason: { type: 'string', enum: ['unknown_action', 'unknown_grant', 'wrong_time'] }
        }
      }
    }
  }
} as const

const REPORTER = Symbol('valetkey.reporter')
const CONTENT = Symbol('valetkey.content')

declare module 'fastify' {
  interface FastifyRequest {
    [REPORTER]?: Reporter
    /** The parsed body. `body` stays empty, because what records refusals reads it as a form. */
    [CONTENT]?: unknown
  }
}

/**
 * `POST /uses` on the internal listener: a guard reports what apps did, as sums. JSON; resource server credentials as HTTP Basic.
 * - 200: `{"counted","repeated","ignored"}`. A use that cannot be counted is in `ignored`, and the others count.
 * - 400 `invalid_request`: a member is wrong; nothing was counted. 413: over 128 KiB. 401, 429, 503 as for introspection.
 */
export const useRoutes: FastifyPluginAsync<{
  /** Identifier of the default API, to which the built-in actions belong. */
  defaultAudience: string
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  /** Counts failed credentials. */
  limiter: Pick<Limiter, 'count'>
  /** Time of the last use of each resource server's credentials. */
  usage: Pick<Usage, 'note'>
  appUses: Pick<AppUseStore, 'add'>
}> = async (internal, options) => {
  const { appUses, defaultAudience, usage } = options
  internal.decorateRequest(REPORTER, undefined)
  internal.decorateRequest(CONTENT, undefined)
  readJsonOnly(internal)

  // Before the body is read: a stranger must not send 128 KiB to be parsed.
  async function authenticate(request: FastifyRequest): Promise<void> {
    const credentials = readClientCredentials(authorizationHeaders(request), NO_PARAMETERS)
    const { clientId, audience } = await authenticateResourceServer(credentials, request.ip, options)
    usage.note(clientId)
    request[REPORTER] = { clientId, audience }
  }

  const route = {
    bodyLimit: BODY_LIMIT,
    // Routine: every process of each API sends one in half a minute.
    config: { isRoutine: true },
    schema: { response: { 200: RESULT } },
    onRequest: authenticate
  }
  internal.post('/uses', route, async (request, reply) => {
    const reporter = request[REPORTER]
    if (reporter === undefined) throw new Error('the request is not authenticated')
    const report = readReport(request[CONTENT])
    const { isFirst, ignored } = await appUses.add(report, reporter, defaultAudience)
    if (isFirst && ignored.length > 0) logIgnored(request, reporter, ignored)
    reply.header('cache-control', 'no-store')
    return { counted: isFirst ? report.uses.length - ignored.length : 0, repeated: !isFirst, ignored }
  })
}

function logIgnored(request: FastifyRequest, { clientId }: Reporter, ignored: readonly IgnoredUse[]): void {
  const counts: Record<string, number> = {}
  for (const { reason } of ignored) counts[reason] = (counts[reason] ?? 0) + 1
  request.log.info({ event: 'uses_ignored', clientId, ...counts }, 'some reported uses were not counted')
}

/** The other endpoints of the listener read forms. */
function readJsonOnly(internal: FastifyInstance): void {
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
