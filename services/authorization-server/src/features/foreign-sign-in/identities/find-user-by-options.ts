import { CommandFailure } from '../../../operator/cli/exit.js'
import type { UserFinder } from '../../../operator/cli/user-finder.js'
import { findUserByEither } from '../../../operator/use-cases/administer-users.js'
import { createUserStore } from '../../../storage/postgres/users.js'
import { findUserByIdentity } from './administer-identities.js'
import { ISSUER_OPTION, SUBJECT_OPTION } from './identity-commands.js'
import { createIdentityStore } from './identity-store.js'

/** Finds the user of an argument, or of an identity for scripts that know users by their provider only. */
export const userFinder: UserFinder = {
  options: [ISSUER_OPTION, SUBJECT_OPTION],
  async find(argument, { issuer, subject }, context) {
    if (argument !== undefined && issuer === undefined && subject === undefined) {
      return findUserByEither(argument, { users: createUserStore(context.database()) })
    }
    if (argument !== undefined || issuer === undefined || subject === undefined) {
      throw new CommandFailure('usage', 'pass either a user, or both --issuer and --subject')
    }
    return findUserByIdentity({ issuer, subject }, { identities: createIdentityStore(context.database()) })
  }
}
