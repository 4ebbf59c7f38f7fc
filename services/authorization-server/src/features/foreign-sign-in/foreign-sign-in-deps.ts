import type { CompletionDeps } from '../../browser/login/complete-sign-in.js'
import type { SignInWays } from '../../browser/login/sign-in-ways.js'
import type { ValidationDeps } from '../../browser/pending-requests/validate-request.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import type { UserStore } from '../../storage/postgres/users.js'
import type { IdentityStore } from './identities/identity-store.js'
import type { LinkProposalStore } from './identities/link-proposal-store.js'
import type { OwnIdentityStore } from './identities/own-identity-store.js'
import type { SignInAttemptStore } from './identities/sign-in-attempt-store.js'

/** What the pages of a sign-in elsewhere use: the stores of the feature by their names, and parts of the core. */
export type ForeignSignInDeps = CompletionDeps &
  ValidationDeps & {
    cookieKeys: readonly string[]
    ways: SignInWays
    users: Pick<UserStore, 'findById'>
    identities: IdentityStore
    ownIdentities: OwnIdentityStore
    attempts: SignInAttemptStore
    proposals: LinkProposalStore
    limiter: Pick<Limiter, 'attempt'>
    audit: AuditTrail
    now: () => Date
  }
