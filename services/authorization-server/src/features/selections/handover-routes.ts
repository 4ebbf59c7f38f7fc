import { OAuthError } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { hashId, isRandomId } from '../../browser/session/random-id.js'
import { type CallerOptions, callerOf, contentOf, readJsonOfApis, wrongMember } from '../../http/internal-json.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { AuthorizationDetail } from '../../storage/redis/code-record.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import type { ChosenGrantStore } from './chosen-grant-store.js'
import type { ChosenStore } from './chosen-store.js'
import type { FoundHandover, Handover, HandoverStore } from './handover-store.js'
import { readFinish, readStart } from './read-handover.js'

type HandoverDeps = {
  handovers: HandoverStore
  chosen: Pick<ChosenStore, 'saveDetail'>
  chosenGrants: ChosenGrantStore
  pending: Pick<PendingRequestStore, 'exists'>
  audit: Pick<AuditTrail, 'record'>
}

const BODY_LIMIT = 16 * 1024

const text = (description: string) => ({ type: 'string', description })

const STARTED = {
  type: 'object',
  required: ['sub', 'client_id', 'client_name', 'scope', 'language', 'return_to', 'expires_in'],
  properties: {
    sub: text('the user'),
    client_id: text('the app'),
    client_name: text('the name of the app for the page'),
    scope: text('the scope that the user chooses for'),
    language: text('language tag of the page that the user comes from'),
    return_to: text('where the browser goes if the user chooses nothing'),
    expires_in: { type: 'integer', description: 'seconds in which the choice can be finished' },
    identifier: text('of the choice that is to be changed; absent for a new one')
  }
} as const

const FINISHED = {
  type: 'object',
  required: ['return_to'],
  properties: { return_to: text('where the browser goes next') }
} as const

/**
 * `POST /selections/start` and `POST /selections/finish` on the internal listener, for the page of an API on which a user chooses.
 * JSON; resource server credentials as HTTP Basic.
 * - 404 `unknown_handover`: it is unknown, expired, of another API, already started (start) or not started (finish), or the request or
 *   the access of the app has ended.
 * - 400 `invalid_request`: a member is wrong. 401, 429, 503 as for introspection.
 */
export const handoverRoutes: FastifyPluginAsync<HandoverDeps & CallerOptions> = async (internal, deps) => {
  readJsonOfApis(internal, deps)

  const starting = { bodyLimit: BODY_LIMIT, schema: { response: { 200: STARTED } } }
  internal.post('/selections/start', starting, async (request, reply) => {
    const id = readStart(contentOf(request))
    const found = await findHandover(id, request, deps)
    if (found.isStarted || !(await deps.handovers.start(hashId(id), found))) throw unknown('started_before')
    const { userId: sub, clientId, clientName, scope, language, returnTo, purpose } = found.handover
    deps.audit.record(request, { event: 'selection_started', clientId, userId: sub, reason: purpose.kind })
    reply.header('cache-control', 'no-store')
    return {
      sub,
      client_id: clientId,
      client_name: clientName,
      scope,
      language,
      return_to: returnTo,
      expires_in: found.expiresIn,
      identifier: purpose.kind === 'change' ? purpose.identifier : undefined
    }
  })

  const finishing = { bodyLimit: BODY_LIMIT, schema: { response: { 200: FINISHED } } }
  internal.post('/selections/finish', finishing, async (request, reply) => {
    const { handover: id, detail } = readFinish(contentOf(request))
    const { handover, isStarted } = await findHandover(id, request, deps)
    if (!isStarted) throw unknown('not_started')
    await finish(handover, detail, request, deps)
    reply.header('cache-control', 'no-store')
    return { return_to: handover.purpose.kind === 'change' ? changed(handover.returnTo) : handover.returnTo }
  })
}

/** The list of connected apps then says that the choice was changed. */
const changed = (listUrl: string): string => `${listUrl}?done=chosen`

/** A hand-over to this API whose request is not decided, or whose choice gives access. */
async function findHandover(id: string, request: FastifyRequest, deps: HandoverDeps): Promise<FoundHandover> {
  const found = isRandomId(id) ? await deps.handovers.find(hashId(id)) : undefined
  if (found === undefined) throw unknown('unknown_handover')
  // It stays unused: the credentials of one API must not be able to use up those of others.
  if (found.handover.audience !== callerOf(request).audience) throw unknown('handover_of_another_api')
  if (!(await isOpen(found.handover, deps))) throw unknown('handover_has_ended')
  return found
}

async function isOpen({ purpose, ...access }: Handover, { pending, chosenGrants }: HandoverDeps): Promise<boolean> {
  if (purpose.kind === 'change') {
    return chosenGrants.exists({ ...access, type: purpose.type, identifier: purpose.identifier })
  }
  // The user may have been disabled since: the API would show what belongs to the user.
  const { userId } = access
  return (await pending.exists({ userId, hash: purpose.pendingHash })) && chosenGrants.isUser(userId)
}

async function finish(
  { purpose, ...access }: Handover,
  detail: AuthorizationDetail,
  request: FastifyRequest,
  { chosen, chosenGrants, audit }: HandoverDeps
): Promise<void> {
  const { clientId, userId } = access
  const { type, identifier, summary } = detail
  if (purpose.kind === 'request') return chosen.saveDetail({ userId, hash: purpose.pendingHash }, detail)
  if (type !== purpose.type) throw wrongMember('type', 'that of the choice')
  if (identifier !== purpose.identifier) throw wrongMember('identifier', 'the one of the start')
  if (!(await chosenGrants.describe({ ...access, type, identifier }, summary))) throw unknown('handover_has_ended')
  audit.record(request, { event: 'selection_changed', clientId, userId, chosen: [{ type, identifier }] })
}

/** The same for all causes; the log has the reason. */
function unknown(reason: string): OAuthError {
  return new OAuthError('unknown_handover', 'The hand-over is unknown, used, expired or ended.', { reason })
}
