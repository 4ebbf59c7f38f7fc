import { errorLocation, isClientIdentifier, parseParameters, successLocation } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { errorUri } from '../../http/send-oauth-error.js'
import { remembersConsent } from '../../platform/clients/remembers-consent.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { type Allowed, type IssueCodeDeps, issueCode } from '../codes/issue-code.js'
import { clientQuery, holdRequest, sentAgain, stepUrl } from '../pending-requests/pending-request.js'
import { type ValidatedRequest, type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import type { SignedIn } from '../session/session-plugin.js'
import { type Asking, nextStep } from './next-step.js'

export type AuthorizeRouteOptions = {
  issuer: string
  judge: ValidationDeps
  pending: Pick<PendingRequestStore, 'hold'>
  consents: Pick<ConsentStore, 'findScope'>
  issue: IssueCodeDeps
}

/** What may not be answered by a redirect: the person sees a page, and no link to an unchecked address. */
type BadRequest = 'no_cookie' | Extract<ValidatedRequest, { kind: 'show_error_page' }>['reason']

/** The user of a session, with the generations it was opened under. */
type SessionUser = Pick<Allowed, 'userId' | 'userGeneration' | 'sessionGeneration'>

type Accepted = Extract<ValidatedRequest, { kind: 'accepted' }>

/** `GET /oauth/authorize` (RFC 6749 §4.1.1): where every request starts, and where sign-in and consent come back to. */
export const authorizeRoutes: FastifyPluginAsync<AuthorizeRouteOptions> = async (pages, options) => {
  const { issuer, judge, pending, consents, issue } = options

  // No HEAD: a request that is only looked at must neither be held nor get a code.
  pages.get(
    '/oauth/authorize',
    { exposeHeadRoute: false, config: { verifiesSession: true } },
    async (request, reply) => {
      const judged = await validateRequest(clientQuery(request), judge)
      switch (judged.kind) {
        case 'show_error_page':
          return showErrorPage(judged.reason, request, reply)
        case 'redirect_error':
          await recordRefusal(judged.error, request)
          return redirectError(reply, judged)
        case 'accepted':
          return goOn(judged, request, reply)
      }
    }
  )

  async function goOn(accepted: Accepted, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const session = request.unverifiedSession
    if (session !== undefined) {
      const step = nextStep({ ...accepted, asking: { kind: 'unverified_session' } })
      const location = step.kind === 'issue_code' ? await tryCode(accepted, session, request) : undefined
      if (location !== undefined) return reply.redirect(location, 303)
    }
    return lookUpAndGoOn(accepted, request, reply)
  }

  /** The ordinary way, where nobody has a session, somebody must be asked, or a code at once was declined. */
  async function lookUpAndGoOn(
    accepted: Accepted,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const user = await request.verifySession()
    const step = nextStep({ ...accepted, asking: await lookUp(accepted, user) })
    if (step.kind === 'issue_code' && user !== undefined) {
      const location = await tryCode(accepted, user, request)
      if (location === undefined) return redirectError(reply, { ...accepted.request, ...DISABLED })
      return reply.redirect(location, 303)
    }
    const query = clientQuery(request)
    const again = sentAgain(request)
    // A step that saw no cookie has set one and sent the browser here.
    if (!request.browserIsKnown && again !== undefined) {
      return showErrorPage('no_cookie', request, reply, stepUrl(issuer, '/oauth/authorize', query))
    }
    const notice = again === 'interrupted' ? again : undefined
    if (step.kind === 'sign_in' || user === undefined) {
      return reply.redirect(stepUrl(issuer, '/login', query, { again: notice }), 303)
    }
    const { id } = await holdRequest(request, user, pending)
    return reply.redirect(stepUrl(issuer, '/consent', query, { resume: id, again: notice }), 303)
  }

  async function lookUp({ client }: Accepted, user: SignedIn | undefined): Promise<Asking> {
    if (user === undefined) return { kind: 'nobody' }
    const rememberedScope = remembersConsent(client) ? await consents.findScope(user.userId, client.clientId) : []
    return { kind: 'signed_in', rememberedScope }
  }

  /** @returns where the code goes; undefined when the statement that opens the grant has declined */
  async function tryCode(
    { request: asked }: Accepted,
    user: SessionUser,
    request: FastifyRequest
  ): Promise<string | undefined> {
    const issued = await issueCode(asked, { ...user, scope: asked.scope, consent: 'remembered' }, issue, request)
    return issued && successLocation({ ...asked, issuer }, issued.code)
  }

  async function showErrorPage(
    reason: BadRequest,
    request: FastifyRequest,
    reply: FastifyReply,
    retryUrl?: string
  ): Promise<FastifyReply> {
    await recordRefusal(reason, request)
    return sendErrorPage(request, reply, { status: 400, reason, retryUrl })
  }

  async function recordRefusal(reason: string, request: FastifyRequest): Promise<void> {
    const userId = (request.signedIn ?? (await request.verifySession()))?.userId
    // As the request names it: it need not be known.
    const named = parseParameters(clientQuery(request)).get('client_id')
    const clientId = named !== undefined && isClientIdentifier(named) ? named : undefined
    issue.audit.record(request, { event: 'authorization_refused', clientId, userId, reason })
  }

  function redirectError(
    reply: FastifyReply,
    refused: Omit<Extract<ValidatedRequest, { kind: 'redirect_error' }>, 'kind'>
  ): FastifyReply {
    const failure = { ...refused, errorUri: errorUri(issuer, refused.error) }
    return reply.redirect(errorLocation({ ...refused, issuer }, failure), 303)
  }
}

const DISABLED = { error: 'access_denied', description: 'The account or app was disabled.' } as const
