import type { FormParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'

/** The browser that sends the request. */
type RequestingBrowser = Pick<FastifyRequest, 'browserId'>

/** An authorization request that its client has sent before, and that an address names (RFC 9126 §4). */
export type ReferredRequest = {
  parameters: FormParameters
  /**
   * Uses the request up, at the decision of its user.
   * @returns undefined if another decision has used it; else the function that undoes this, for a decision that fails
   */
  use: () => Promise<(() => Promise<void>) | undefined>
}

/** Authorization requests that clients send before; an address names one by its `request_uri`. */
export type RequestReferences = {
  /** Whether all clients must do this (RFC 9126 §5). */
  areRequired: boolean
  /** Whether the parameters name such a request, whether it exists or not. */
  areIn: (parameters: FormParameters) => boolean
  /**
   * @param includesUsed whether a request that was used is found, too: for a form that is sent twice
   * @returns undefined if this browser cannot continue such a request of this client
   */
  find: (
    parameters: FormParameters,
    browser: RequestingBrowser,
    includesUsed: boolean
  ) => Promise<ReferredRequest | undefined>
}

/** Uses the request up, then decides. @returns undefined if another decision has used it */
export async function decideOnce<Outcome>(
  referred: ReferredRequest,
  decide: () => Promise<Outcome>
): Promise<Outcome | undefined> {
  const giveBack = await referred.use()
  if (giveBack === undefined) return undefined
  try {
    return await decide()
  } catch (error) {
    // The user can decide again.
    await giveBack()
    throw error
  }
}

/**
 * Valetkey's own parameter beside `request_uri`: the user wants another account. All others of the client are ignored there (RFC
 * 9101 §5), so `prompt` would have no effect.
 */
const NEW_SIGN_IN = 'new_sign_in'

/** The query of a request by reference that also requires a new sign-in. */
export function requireNewSignIn(query: string): string {
  return query.includes(`&${NEW_SIGN_IN}=`) ? query : `${query}&${NEW_SIGN_IN}=1`
}

/** The parameters of a request by reference. @param sent the parameters of the address */
export function referredParameters({ parameters }: ReferredRequest, sent: FormParameters): FormParameters {
  if (sent.get(NEW_SIGN_IN) === undefined) return parameters
  const prompt = `${parameters.get('prompt') ?? ''} login`
  return { ...parameters, get: (name) => (name === 'prompt' ? prompt : parameters.get(name)) }
}
