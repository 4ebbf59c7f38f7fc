import { readAccountSettings } from '../../config.js'
import { newPasswordRules } from '../../platform/passwords/new-password.js'
import { hashPassword } from '../../platform/passwords/password.js'
import { createUserStore } from '../../storage/postgres/users.js'
import type { UserAdministration } from '../use-cases/administer-users.js'
import type { CommandDeps } from './command-deps.js'

/** What commands about users need. */
export function userAdministrationOf(context: CommandDeps): UserAdministration {
  return {
    users: createUserStore(context.database()),
    hashPassword,
    passwordRules: newPasswordRules(readAccountSettings(context.environment()))
  }
}
