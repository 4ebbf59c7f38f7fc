import type { FormParameters } from '@valetkey/oauth-protocol'
import type { AuthorizationDetail } from '../storage/redis/code-record.js'
import type { PendingRequest } from '../storage/redis/pending-requests.js'

/** What a user has chosen for a pending authorization request. */
export type Chosen = {
  /** Undefined: nothing yet. */
  detail: AuthorizationDetail | undefined
  /** The consent form as it was when the browser left for the API; undefined before. */
  draft: FormParameters | undefined
}

/** A browser that leaves the consent page for the page of the API. */
type Choosing = {
  pending: PendingRequest
  client: { clientId: string; name: string }
  /** The API. */
  audience: string
  /** The scope that selects. */
  scope: string
  /** Language tag of the page. */
  language: string
  /** The address of the consent page, to which the browser returns. */
  returnTo: string
  /** The form, to be shown again. */
  draft: string
}

/** Lets users choose at the API what a scope gives access to. Without it, a scope that selects gives access to nothing. */
export type Selections = {
  find: (pending: PendingRequest) => Promise<Chosen>
  /** @returns the address of the page of the API, which can be opened once */
  begin: (choosing: Choosing) => Promise<string>
  /** Target of the form that changes the choice of a connected app, with `client_id`, `audience` and `identifier`. */
  changeUrl: string
}
