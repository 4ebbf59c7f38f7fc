import type { AuthorizationRequest, Client, Parameters } from '@valetkey/oauth-protocol'
import type { AuditedRequest } from '../audit/audit-trail.js'
import { type IssueCodeDeps, issueCode } from '../codes/issue-code.js'
import { type HeldRequest, restoreHeldRequest, takeHeldRequest } from '../requests/held-request.js'
import type { SignedIn } from '../session/session-plugin.js'
import type { ConsentStore } from '../storage/consents.js'
import type { PendingRequestStore } from '../storage/pending-requests.js'

export type Decision = { kind: 'allow'; scope: readonly string[] } | { kind: 'deny' }

export type DecideDeps = {
  pending: Pick<PendingRequestStore, 'take' | 'save'>
  consents: Pick<ConsentStore, 'remember'>
  issue: IssueCodeDeps
}

export type ConsentOutcome = { kind: 'code'; code: string } | { kind: 'denied' } | { kind: 'decided_before' }

type Subject = { held: HeldRequest; request: AuthorizationRequest; client: Client; user: SignedIn }

/** Reads the form: which button, and which of the optional scopes were left ticked. */
export function readDecision(
  form: Parameters,
  asked: { request: AuthorizationRequest; client: Client }
): Decision | undefined {
  const decision = form.get('decision')
  if (decision === 'deny') return { kind: 'deny' }
  if (decision !== 'allow') return undefined
  const { request, client } = asked
  const scope = request.scope.filter(
    (name) => client.requiredScopes.includes(name) || form.get(`scope.${name}`) === 'on'
  )
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
  if (!(await takeHeldRequest(held, deps.pending))) return { kind: 'decided_before' }
  const concerned = { clientId: client.clientId, userId: user.userId }
  if (decision.kind === 'deny') {
    deps.issue.audit.record(audited, { event: 'consent_denied', ...concerned })
    return { kind: 'denied' }
  }
  try {
    return await allow(decision.scope, subject, deps, audited)
  } catch (error) {
    // An outage must not cost the person the request: the same form can be sent again.
    await restoreHeldRequest(held, deps.pending).catch(() => {})
    throw error
  }
}

async function allow(
  scope: readonly string[],
  { request, client, user }: Subject,
  deps: DecideDeps,
  audited: AuditedRequest
): Promise<ConsentOutcome> {
  const concerned = { clientId: client.clientId, userId: user.userId }
  const code = await issueCode(request, { ...user, scope }, deps.issue, audited)
  // The user or the client was disabled since the page was shown.
  if (code === undefined) return { kind: 'denied' }
  deps.issue.audit.record(audited, { event: 'consent_given', ...concerned, scope })
  if (client.consent === 'remember') await deps.consents.remember(user.userId, client.clientId, scope, deps.issue.now())
  return { kind: 'code', code }
}
