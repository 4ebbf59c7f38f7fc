import { type FormParameters, successLocation } from '@valetkey/oauth-protocol'
import type { AuditedRequest } from '../../platform/audit/audit-trail.js'
import { remembersConsent } from '../../platform/clients/remembers-consent.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { type IssueCodeDeps, issueCode } from '../codes/issue-code.js'
import type { SignedIn } from '../session/session-plugin.js'
import { type Asked, sortScopes } from './consent-view.js'
import { encryptRedirect } from './encrypted-redirect.js'

export type Decision = { kind: 'allow'; scope: readonly string[] } | { kind: 'deny' }

export type DecideDeps = {
  issuer: string
  pending: Pick<PendingRequestStore, 'take' | 'hold' | 'saveDecision'>
  consents: Pick<ConsentStore, 'remember'>
  issue: IssueCodeDeps
}

export type ConsentOutcome = { kind: 'allowed'; location: string } | { kind: 'denied' } | { kind: 'decided_before' }

/** @param answerKey the one-time field of the form; with it the same redirect can be given again */
type Subject = Asked & { held: PendingRequest; user: SignedIn; answerKey: string }

/** Reads the form: which button, and which of the optional scopes were left ticked. */
export function readDecision(form: FormParameters, asked: Asked): Decision | undefined {
  const decision = form.get('decision')
  if (decision === 'deny') return { kind: 'deny' }
  if (decision !== 'allow') return undefined
  const { optional } = sortScopes(asked)
  const isLeftOut = (name: string): boolean => optional.includes(name) && form.get(`scope.${name}`) !== 'on'
  const scope = asked.request.scope.filter((name) => !isLeftOut(name))
  // Whoever leaves out everything allows nothing.
  return scope.length === 0 ? { kind: 'deny' } : { kind: 'allow', scope }
}

/** Carries a decision out, once: a second form of the same request finds it taken. */
export async function decideConsent(
  decision: Decision,
  subject: Subject,
  deps: DecideDeps,
  audited: AuditedRequest
): Promise<ConsentOutcome> {
  const { held, client, user } = subject
  if (!(await deps.pending.take(held))) return { kind: 'decided_before' }
  try {
    if (decision.kind === 'allow') return await allow(decision.scope, subject, deps, audited)
    deps.issue.audit.record(audited, { event: 'consent_denied', clientId: client.clientId, userId: user.userId })
    return await deny(subject, deps)
  } catch (error) {
    // An outage must not cost the person the request: the same form can be sent again.
    await deps.pending.hold(held).catch(() => {})
    throw error
  }
}

async function allow(
  scope: readonly string[],
  subject: Subject,
  deps: DecideDeps,
  audited: AuditedRequest
): Promise<ConsentOutcome> {
  const { request, client, user, held, answerKey } = subject
  const locationWith = (code: string) => successLocation({ ...request, issuer: deps.issuer }, code)
  const seal = (code: string) => encryptRedirect(locationWith(code), answerKey)
  // Before the code is issued: whatever fails after that would leave a code behind that nobody gets.
  if (remembersConsent(client)) await deps.consents.remember(user.userId, client.clientId, scope)
  const issued = await issueCode(request, { ...user, scope, consent: 'given' }, deps.issue, audited, seal)
  // The user or the client was disabled since the page was shown, or the user signed out everywhere.
  if (issued === undefined) return deny(subject, deps)
  const concerned = { clientId: client.clientId, userId: user.userId }
  deps.issue.audit.record(audited, { event: 'consent_given', ...concerned, scope })
  const { codeDigest } = issued
  await deps.pending.saveDecision(held, { kind: 'allowed', codeDigest }, deps.issue.codeTtl * 1000)
  return { kind: 'allowed', location: locationWith(issued.code) }
}

async function deny({ held }: Subject, { pending, issue }: DecideDeps): Promise<ConsentOutcome> {
  await pending.saveDecision(held, { kind: 'denied' }, issue.codeTtl * 1000)
  return { kind: 'denied' }
}
