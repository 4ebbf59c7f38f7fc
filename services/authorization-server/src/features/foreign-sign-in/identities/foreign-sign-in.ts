import type { FastifyRequest } from 'fastify'
import { hashId, isRandomId, newRandomId } from '../../../browser/session/random-id.js'
import { addressGroup } from '../../../platform/rate-limits/address-group.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import type { LinkProposal } from './link-proposal-store.js'
import type { ForeignSignIn, SignInPurpose } from './sign-in-attempt-store.js'

/** A response is accepted this long after the start. */
const ACCEPTED_MS = { provider: 10 * 60_000, handoff: 15 * 60_000 }

/**
 * Stores that this browser leaves for a provider or a login page.
 * @returns `state`, which the response must contain, and the record
 */
export async function beginForeignSignIn(
  request: FastifyRequest,
  { way, query, purpose }: { way: string; query: string; purpose: SignInPurpose },
  { attempts, now }: Pick<ForeignSignInDeps, 'attempts' | 'now'>
): Promise<{ state: string; attempt: ForeignSignIn }> {
  const state = newRandomId()
  const attempt: ForeignSignIn = {
    way,
    query,
    purpose,
    nonce: newRandomId(),
    verifier: newRandomId(),
    startedAt: now().getTime()
  }
  await attempts.add(ownerOf(request, state), attempt, addressGroup(request.ip))
  return { state, attempt }
}

/** The query that leads back to the step that the attempt began at: the client's query, or the page of the account. */
export function queryOfAttempt({ query, purpose }: Pick<ForeignSignIn, 'query' | 'purpose'>): string {
  const page = purpose.kind === 'confirm' || purpose.kind === 'sign_in' ? purpose.page : undefined
  return query === '' && page !== undefined ? `page=${page}` : query
}

/**
 * Returns the URL at which an attempt to link starts again. A plain sign-in would lose what the identity is for: a provider
 * that creates users would give the identity an account of its own.
 * @returns undefined if the attempt is a sign-in
 */
export function restartUrl({ purpose }: Pick<ForeignSignIn, 'purpose'>, issuer: string): string | undefined {
  return purpose.kind === 'link' || purpose.kind === 'invitation' ? linkStartUrl(purpose, issuer) : undefined
}

/** The page from which the browser left to link an identity. That of an invitation has its token in a cookie. */
export function linkStartUrl({ kind }: LinkProposal['purpose'], issuer: string): string {
  return kind === 'invitation' ? `${issuer}/account-link` : `${issuer}/account/sign-ins`
}

export type TakenForeignSignIn =
  | { kind: 'taken'; attempt: ForeignSignIn }
  /** The response came before, for example because the page was reloaded, or it came too late. Its request is still known. */
  | { kind: 'used' | 'expired'; attempt: ForeignSignIn }
  /** The browser did not begin this sign-in (login CSRF), or did not send its cookie. */
  | { kind: 'other_browser' }
  | { kind: 'unknown' }

/** Takes the sign-in that a response belongs to, once. A response for another way is unknown (mix-up, RFC 9700 §4.4). */
export async function takeForeignSignIn(
  request: FastifyRequest,
  way: string,
  state: string | undefined,
  { attempts, now }: Pick<ForeignSignInDeps, 'attempts' | 'now'>
): Promise<TakenForeignSignIn> {
  if (!isRandomId(state)) return { kind: 'unknown' }
  // The browser is checked before the attempt is taken: another browser must not be able to use it up.
  if (!request.browserIsKnown) return { kind: 'other_browser' }
  const found = await attempts.take(ownerOf(request, state))
  if (found === undefined || found.kind === 'other_browser') return found ?? { kind: 'unknown' }
  const { kind, attempt } = found
  if (attempt.way !== way) return { kind: 'unknown' }
  if (kind === 'used') return { kind, attempt }
  const age = now().getTime() - attempt.startedAt
  return { kind: age < ACCEPTED_MS[way === 'handoff' ? 'handoff' : 'provider'] ? 'taken' : 'expired', attempt }
}

function ownerOf({ browserId }: FastifyRequest, state: string) {
  return { stateHash: hashId(state), browserHash: hashId(browserId) }
}
