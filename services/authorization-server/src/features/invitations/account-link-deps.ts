import type { FormPage } from '../../browser/csrf/check-form.js'
import type { CompletionDeps } from '../../browser/login/complete-sign-in.js'
import type { SignInWays } from '../../browser/login/sign-in-ways.js'
import type { NewPasswordRules } from '../../platform/passwords/new-password.js'
import type { PasswordQueue } from '../../platform/passwords/password-queue.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import type { AccountLinkStore } from './account-link-store.js'

/** What the page of a link uses. */
export type AccountLinkDeps = FormPage &
  CompletionDeps & {
    ways: SignInWays
    accountLinks: Pick<AccountLinkStore, 'find' | 'redeem'>
    limiter: Pick<Limiter, 'attempt'>
    passwordQueue: Pick<PasswordQueue, 'run' | 'deadline'>
    passwordRules: NewPasswordRules
  }
