import type { Feature } from '../../feature.js'
import { TOKEN_IMPORT_EVENTS } from './audit-events.js'
import { createForeignTokenFinder } from './find-foreign-token.js'
import { createForeignTokenStore, deleteExpiredForeignTokens } from './foreign-token-store.js'
import { addTokenImportCommand } from './token-import-command.js'

/** Refresh tokens and consents of another server: its apps go on without a sign-in. */
export const tokenImport: Feature = {
  auditEvents: TOKEN_IMPORT_EVENTS,
  start({ database }) {
    return {
      foreignRefreshTokens: createForeignTokenFinder(createForeignTokenStore(database)),
      expiryTasks: [() => deleteExpiredForeignTokens(database)]
    }
  },
  addCommands: ({ tokens }, context) => addTokenImportCommand(tokens, context),
  commandExamples: { 'tokens import': 'tokens import tokens.ndjson --dry-run' }
}
