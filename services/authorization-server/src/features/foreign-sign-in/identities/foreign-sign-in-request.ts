import type { FastifyRequest } from 'fastify'
import { findSignInRequest } from '../../../browser/login/sign-in-request.js'
import { clientQuery } from '../../../browser/pending-requests/pending-request.js'
import type { SignInParameters } from '../../../browser/steps/next-step.js'
import type { ForeignSignIn, SignInPurpose } from './sign-in-attempt-store.js'

/** What a provider or a login page is asked for. */
export type ForeignSignInRequest = {
  /** The client's query; empty without an authorization request. */
  query: string
  purpose: SignInPurpose
  /** `login`: the person must sign in there now. */
  prompt: readonly string[]
}

/** @returns undefined if signing in is not the next step: then nothing is stored */
export async function findForeignSignInRequest(
  purpose: SignInPurpose,
  request: FastifyRequest,
  deps: Parameters<typeof findSignInRequest>[1]
): Promise<ForeignSignInRequest | undefined> {
  if (purpose.kind === 'link' || purpose.kind === 'invitation') return { query: '', purpose, prompt: [] }
  const signInRequest = await findSignInRequest(request, deps)
  if (signInRequest === undefined) return undefined
  return { query: clientQuery(request), purpose, prompt: passedOn(signInRequest.authorization?.request) }
}

/** A sign-in because of `max_age` must not use an older session of the person there. */
function passedOn(request: SignInParameters | undefined): readonly string[] {
  if (request === undefined) return []
  const { prompt, maxAge } = request
  const wanted = prompt.filter((value) => value === 'login' || value === 'select_account')
  return maxAge === undefined || wanted.includes('login') ? wanted : [...wanted, 'login']
}

/** Whether the user must sign in there now: before a change of the account. */
export function mustConfirm({ purpose }: Pick<ForeignSignIn, 'purpose'>): boolean {
  return purpose.kind === 'confirm' || purpose.kind === 'link'
}
