import type { Feature } from '../../feature.js'
import { IMPORT_EVENTS } from './audit-events.js'
import { addUserImportCommand } from './user-import-command.js'

/** Users with identities and password hashes of another system. */
export const userImport: Feature = {
  auditEvents: IMPORT_EVENTS,
  addCommands: ({ users }, context) => addUserImportCommand(users, context),
  commandExamples: {
    'users import': 'users import users.ndjson --dry-run'
  }
}
