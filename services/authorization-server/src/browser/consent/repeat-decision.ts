import { setTimeout as wait } from 'node:timers/promises'
import type { CodeStore } from '../../storage/redis/codes.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import type { ConsentOutcome } from './decide-consent.js'
import { openRedirect } from './encrypted-redirect.js'

export type RepeatDeps = {
  pending: Pick<PendingRequestStore, 'findDecision'>
  codes: Pick<CodeStore, 'findEncryptedRedirect'>
}

const POLL_MS = 50
const POLLS = 60

/**
 * Answers a form that was sent a second time: a double click, a reload, a connection that broke before the answer came.
 * The very same redirect, as long as its code is unredeemed and alive; afterwards the request has to be asked anew.
 */
export async function repeatDecision(
  form: { held: PendingRequest; decision: 'allow' | 'deny'; answerKey: string },
  deps: RepeatDeps
): Promise<ConsentOutcome> {
  const decided = await findDecision(form.held, deps)
  if (decided === undefined) return { kind: 'decided_before' }
  if (decided.kind === 'denied') return form.decision === 'deny' ? { kind: 'denied' } : { kind: 'decided_before' }
  const sealed = await deps.codes.findEncryptedRedirect(decided.codeDigest)
  const location = sealed && form.decision === 'allow' ? openRedirect(sealed, form.answerKey) : undefined
  return location === undefined ? { kind: 'decided_before' } : { kind: 'allowed', location }
}

/** The first sending may still be under way. */
async function findDecision(held: PendingRequest, { pending }: RepeatDeps) {
  for (let poll = 0; poll < POLLS; poll++) {
    const decision = await pending.findDecision(held)
    if (decision?.kind !== 'deciding') return decision
    await wait(POLL_MS)
  }
  return undefined
}
