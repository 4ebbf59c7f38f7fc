import { setTimeout as wait } from 'node:timers/promises'
import type { CodeStore } from '../../storage/redis/codes.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import type { ConsentOutcome } from './decide-consent.js'
import { decryptRedirect } from './encrypted-redirect.js'

const POLL_MS = 50
const POLLS = 60

/**
 * Responds to a form that was sent a second time: after a double click, a reload, or a connection that broke before the
 * response. The response is the same redirect while its code is valid. Later the user has to be asked again.
 */
export async function repeatDecision(
  form: { pending: PendingRequest; decision: 'allow' | 'deny'; answerKey: string },
  deps: {
    pending: Pick<PendingRequestStore, 'findDecision'>
    codes: Pick<CodeStore, 'findEncryptedRedirect'>
  }
): Promise<ConsentOutcome> {
  const decided = await findDecision(form.pending, deps.pending)
  if (decided === undefined) return { kind: 'decided_before' }
  if (decided.kind === 'denied') return form.decision === 'deny' ? { kind: 'denied' } : { kind: 'decided_before' }
  const encrypted = await deps.codes.findEncryptedRedirect(decided.codeHash)
  const location = encrypted && form.decision === 'allow' ? decryptRedirect(encrypted, form.answerKey) : undefined
  return location === undefined ? { kind: 'decided_before' } : { kind: 'allowed', location }
}

/** Waits for the decision, because the first request may still be in progress. */
async function findDecision(request: PendingRequest, pending: Pick<PendingRequestStore, 'findDecision'>) {
  for (let poll = 0; poll < POLLS; poll++) {
    const decision = await pending.findDecision(request)
    if (decision?.kind !== 'deciding') return decision
    await wait(POLL_MS)
  }
  return undefined
}
