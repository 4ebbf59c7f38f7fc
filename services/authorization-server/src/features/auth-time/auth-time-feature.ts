import type { Feature } from '../../feature.js'
import { authTimeRoutes } from './auth-time-admin-routes.js'
import { addAuthTimeCommand } from './auth-time-command.js'
import { createAuthTimeStore } from './auth-time-store.js'

/** Lets operators mark the APIs whose introspection says when the user signed in (RFC 9470). */
export const authTime: Feature = {
  start: ({ database }) => ({
    adminRoutes(admin) {
      admin.register(authTimeRoutes, { authTimes: createAuthTimeStore(database) })
    }
  }),
  addCommands: ({ resourceServers }, context) => addAuthTimeCommand(resourceServers, context),
  commandExamples: {
    'resource-servers auth-time': 'resource-servers auth-time vFGEyDNcdC3tnqTRj0OKUx on'
  }
}
