import type { FastifyRequest } from 'fastify'
import type { SignedIn } from './session-plugin.js'

/** Ends the session at the provider, too, where the user signed in. */
export type ForeignSignOut = {
  /**
   * What the page with the form needs. `formSources` are sources for the policy `form-action`.
   * @returns undefined if the session began here, or cannot be ended there
   */
  offer: (user: SignedIn) => { label: string; formSources: readonly string[] } | undefined
  /** @returns undefined also if the provider does not respond: the user is signed out here anyway */
  findUrl: (user: SignedIn, request: FastifyRequest) => Promise<string | undefined>
}
