import type { Feature } from '../../feature.js'
import { userFinder } from './identities/find-user-by-options.js'
import { identityRoutes } from './identities/identity-admin-routes.js'
import { addIdentityCommands } from './identities/identity-commands.js'
import { addRebindCommand } from './identities/rebind-command.js'

/** Sign-in with identities at OpenID providers and login pages. */
export const foreignSignIn: Feature = {
  start({ stores: { identities, users } }) {
    return { adminRoutes: (admin) => void admin.register(identityRoutes, { identities, users }) }
  },
  addCommands({ users }, context) {
    addIdentityCommands(users, context)
    addRebindCommand(users, context)
  },
  userFinder
}
