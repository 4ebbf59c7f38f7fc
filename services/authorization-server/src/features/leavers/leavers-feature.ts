import type { Feature } from '../../feature.js'
import { createIdentityStore } from '../foreign-sign-in/identities/identity-store.js'
import { LEAVER_EVENTS } from './audit-events.js'
import { globalRevocationRoutes } from './global-revocation-routes.js'
import { addSignOutCommand } from './sign-out-command.js'
import { createUserAccessStore } from './user-access-store.js'

/** One call ends all sessions and tokens of a user, for systems that know first who has left. */
export const leavers: Feature = {
  auditEvents: LEAVER_EVENTS,
  start({ config, database, stores }) {
    const deps = {
      issuer: config.issuer,
      users: stores.users,
      identities: createIdentityStore(database),
      userAccess: createUserAccessStore(database)
    }
    return { adminRoutes: (admin) => void admin.register(globalRevocationRoutes, deps) }
  },
  addCommands: ({ users }, context) => addSignOutCommand(users, context),
  commandExamples: { 'users sign-out-everywhere': 'users sign-out-everywhere alice --yes' }
}
