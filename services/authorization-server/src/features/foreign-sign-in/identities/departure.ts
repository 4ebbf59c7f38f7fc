import type { FastifyRequest } from 'fastify'
import { findVisit, type VisitDeps } from '../../../browser/login/visit.js'
import { clientQuery } from '../../../browser/pending-requests/pending-request.js'
import type { ForeignSignIn, SignInPurpose } from './sign-in-attempt-store.js'

/** Why the browser leaves for a provider or a login page. */
export type Departure = {
  /** The client's query; empty without an authorization request. */
  query: string
  purpose: SignInPurpose
  prompt: readonly string[]
}

/** Undefined if signing in is not the next step: then nothing is stored. */
export async function findDeparture(
  purpose: SignInPurpose,
  request: FastifyRequest,
  deps: VisitDeps
): Promise<Departure | undefined> {
  if (purpose.kind === 'link' || purpose.kind === 'invitation') return { query: '', purpose, prompt: [] }
  const visit = await findVisit(request, deps)
  if (visit === undefined) return undefined
  const prompt = visit.authorization?.request.prompt ?? []
  const passedOn = prompt.filter((value) => value === 'login' || value === 'select_account')
  return { query: clientQuery(request), purpose, prompt: passedOn }
}

/** Whether the user must sign in there now: before a change of the account. */
export function mustConfirm({ purpose }: Pick<ForeignSignIn, 'purpose'>): boolean {
  return purpose.kind === 'confirm' || purpose.kind === 'link'
}
