import type { Feature } from '../../feature.js'
import { configuredWays } from '../../wire/configured-ways.js'
import { IDENTITY_EVENTS } from './audit-events.js'
import { evaluateWays } from './identities/evaluate-ways.js'
import { userFinder } from './identities/find-user-by-options.js'
import { addIdentityCommands } from './identities/identity-commands.js'
import { readIdentityState } from './identities/identity-state-store.js'
import { addRebindCommand } from './identities/rebind-command.js'
import { examineProviders } from './providers/examine-providers.js'
import { startForeignSignIn } from './wire-foreign-sign-in.js'

/** Sign-in with identities at OpenID providers and login pages. */
export const foreignSignIn: Feature = {
  auditEvents: IDENTITY_EVENTS,
  start: startForeignSignIn,
  examineConnections: ({ signIn }) => examineProviders(signIn.providers, signIn.proxy),
  examineRecords: {
    check: 'ways to sign in',
    async examine(config, database) {
      return evaluateWays(await readIdentityState(database, configuredWays(config).issuers), config.signIn)
    }
  },
  addCommands({ users }, context) {
    addIdentityCommands(users, context)
    addRebindCommand(users, context)
  },
  userFinder,
  commandExamples: {
    'users disable': 'users disable --issuer https://login.example.com --subject u-1001 --yes',
    'users identities': 'users identities alice',
    'users link': 'users link alice --issuer https://login.example.com --subject u-1001',
    'users unlink': 'users unlink alice --issuer https://login.example.com --subject u-1001',
    'users rebind': 'users rebind --issuer https://login.example.com subjects.ndjson'
  }
}
