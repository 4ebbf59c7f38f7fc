import { type FormParameters, remembersConsent, successLocation } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import type { AccessEnds } from '../../platform/access-ends.js'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import type { AllowanceStore } from '../../storage/postgres/allowances.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { type IssueCodeDeps, issueCode } from '../codes/issue-code.js'
import type { ClientFinder } from '../pending-requests/client-finder.js'
import { decideOnce } from '../pending-requests/request-references.js'
import type { SignedIn } from '../session/session-plugin.js'
import type { BeforeAllow } from './before-allow.js'
import { type ConsentQuestion, sortScopes } from './consent-view.js'
import { encryptRedirect } from './encrypted-redirect.js'

/** @property seconds until the access ends; undefined: the user chose no end */
export type Decision = { kind: 'allow'; scope: readonly string[]; seconds: number | undefined } | { kind: 'deny' }

/** What a form lacks for a decision. `choice`: of what the user chooses at the API. */
type Undecided = { kind: 'nothing_chosen' } | { kind: 'no_end_chosen' } | { kind: 'no_choice' }

export type DecideDeps = IssueCodeDeps & {
  issuer: string
  /** Undefined if only registered clients are accepted. */
  finder: Pick<ClientFinder, 'store'> | undefined
  pending: Pick<PendingRequestStore, 'take' | 'add' | 'saveDecision'>
  consents: Pick<ConsentStore, 'remember'>
  allowances: AllowanceStore
  beforeAllow: BeforeAllow | undefined
  /** Postgres's clock. */
  now: () => Date
}

export type ConsentOutcome =
  | { kind: 'allowed'; location: string }
  | { kind: 'denied' }
  | { kind: 'decided_before' }
  /** A pushed request, which another browser has used. */
  | { kind: 'used_elsewhere' }
  /** The pending authorization request remains. */
  | { kind: 'too_many_new_clients'; retryAfterSeconds: number }

type PendingDecision = ConsentQuestion & {
  pending: PendingRequest
  user: SignedIn
  /** Random field of the form. A second Allow with it gets the same redirect. */
  answerKey: string
}

/** Reads the button, the ticked optional scopes and the chosen end from the form. Undefined if the form has no decision. */
export function readDecision(
  form: FormParameters,
  question: ConsentQuestion,
  accessEnds: AccessEnds | undefined
): Decision | Undecided | undefined {
  const decision = form.get('decision')
  if (decision === 'deny') return { kind: 'deny' }
  if (decision === 'choose' && question.chosen !== undefined) return { kind: 'no_choice' }
  if (decision !== 'allow') return undefined
  const { optional } = sortScopes(question)
  const isLeftOut = (name: string): boolean => optional.includes(name) && form.get(`scope.${name}`) !== 'on'
  const scope = question.request.scope.filter((name) => !isLeftOut(name))
  // Allow without any scope: probably the user has missed the boxes, so this is no Deny.
  if (scope.length === 0) return { kind: 'nothing_chosen' }
  const end = accessEnds?.read(form, question.client)
  switch (end?.kind) {
    case undefined:
    case 'not_asked':
      return allowing(scope, undefined, question)
    case 'chosen':
      return allowing(scope, end.seconds, question)
    case 'nothing_chosen':
      return { kind: 'no_end_chosen' }
    case 'not_offered':
      return undefined
  }
}

/** The user may have missed that there is something to choose, so this leads to the page of the API. */
function allowing(
  scope: readonly string[],
  seconds: number | undefined,
  { selectingScope, chosen }: ConsentQuestion
): Decision | Undecided {
  const isChoiceMissing =
    chosen !== undefined && chosen.detail === undefined && scope.some((name) => name === selectingScope)
  return isChoiceMissing ? { kind: 'no_choice' } : { kind: 'allow', scope, seconds }
}

/** Carries out a decision. Only the first form of a pending authorization request gets here; later ones find it decided. */
export async function decideConsent(
  decision: Decision,
  subject: PendingDecision,
  deps: DecideDeps,
  audited: FastifyRequest
): Promise<ConsentOutcome> {
  const { pending, referred } = subject
  if (!(await deps.pending.take(pending))) return { kind: 'decided_before' }
  try {
    if (referred === undefined) return await carryOut(decision, subject, deps, audited)
    const outcome = await decideOnce(referred, () => carryOut(decision, subject, deps, audited))
    return outcome ?? { kind: 'used_elsewhere' }
  } catch (error) {
    // The user can send the same form again.
    await deps.pending.add(pending).catch(() => {})
    if (error instanceof TooManyAttempts) {
      return { kind: 'too_many_new_clients', retryAfterSeconds: error.retryAfterSeconds }
    }
    throw error
  }
}

async function carryOut(
  decision: Decision,
  subject: PendingDecision,
  deps: DecideDeps,
  audited: FastifyRequest
): Promise<ConsentOutcome> {
  if (decision.kind === 'allow') return allow(decision, subject, deps, audited)
  const { client, user } = subject
  deps.audit.record(audited, { event: 'consent_denied', clientId: client.clientId, userId: user.userId })
  return deny(subject, deps)
}

async function allow(
  { scope, seconds }: Extract<Decision, { kind: 'allow' }>,
  subject: PendingDecision,
  deps: DecideDeps,
  audited: FastifyRequest
): Promise<ConsentOutcome> {
  const { request, client, newestScope, sendsAuthTime, user, pending, answerKey } = subject
  const locationWith = (code: string) => successLocation({ ...request, issuer: deps.issuer }, code)
  const encrypt = (code: string) => encryptRedirect(locationWith(code), answerKey)
  const { userId, sessionHash } = user
  const { clientId } = client
  const { audience } = request
  // The client is stored only now, because a request alone must not create a row. The allowance needs it.
  if (client.isDiscovered === true) await deps.finder?.store(client, userId, audited)
  const allowance = await deps.allowances.read({ sessionHash, clientId, audience })
  // The user or the client was disabled since the page was shown, or the session has ended.
  if (allowance?.generations === undefined) {
    deps.audit.record(audited, { event: 'authorization_refused', clientId, userId, reason: 'access_ended' })
    return deny(subject, deps)
  }
  const { userGeneration, generations } = allowance
  const authenticatedAt = sendsAuthTime ? allowance.authenticatedAt : undefined
  const endsAt = seconds === undefined ? undefined : deps.now().getTime() + seconds * 1000
  const authorizationDetails = detailsFor(scope, subject)
  const allowed = {
    userId,
    authenticatedAt,
    userGeneration,
    ...generations,
    scope,
    newestScope,
    endsAt,
    authorizationDetails
  }
  const declined = request.scope.filter((name) => !scope.includes(name))
  const { authorizationGeneration } = generations
  await deps.beforeAllow?.(audited, { userId, client, audience, scope, authorizationGeneration })
  // The consent is stored before the code is issued, so that a failure leaves no code behind that no client receives.
  if (remembersConsent(client)) await deps.consents.remember({ userId, clientId, audience }, { ...allowed, declined })
  const { code, codeHash } = await issueCode(request, allowed, deps, audited, encrypt)
  const end = endsAt === undefined ? undefined : new Date(endsAt)
  const chosen = authorizationDetails?.map(({ type, identifier }) => ({ type, identifier }))
  deps.audit.record(audited, { event: 'consent_given', clientId, userId, scope, endsAt: end, chosen })
  await deps.pending.saveDecision(pending, { kind: 'allowed', codeHash }, deps.codeTtl * 1000)
  return { kind: 'allowed', location: locationWith(code) }
}

/** The choice belongs to the scope that selects. Undefined if that is not allowed. */
function detailsFor(scope: readonly string[], { selectingScope, chosen }: ConsentQuestion) {
  return chosen?.detail !== undefined && scope.some((name) => name === selectingScope) ? [chosen.detail] : undefined
}

async function deny({ pending }: PendingDecision, { pending: store, codeTtl }: DecideDeps): Promise<ConsentOutcome> {
  await store.saveDecision(pending, { kind: 'denied' }, codeTtl * 1000)
  return { kind: 'denied' }
}
