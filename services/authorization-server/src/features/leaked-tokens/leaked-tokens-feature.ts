import type { Feature } from '../../feature.js'
import { createClientRefusalStore } from '../refused-requests/client-refusal-store.js'
import { LEAKED_TOKEN_EVENTS } from './audit-events.js'
import { addEndTokensCommand } from './end-tokens-command.js'
import { REPORT_PATH, reportRoutes } from './report-routes.js'
import { createTokenGrantStore } from './token-grant-store.js'

/** Tokens that were found where they should not be end at once. */
export const leakedTokens: Feature = {
  auditEvents: LEAKED_TOKEN_EVENTS,
  start({ database, stores, platform: { audit, limiter } }) {
    const deps = {
      tokenGrants: createTokenGrantStore(database, stores.buckets),
      grants: stores.grants,
      refusals: createClientRefusalStore(database),
      limiter,
      audit
    }
    return { clientEndpoints: [{ path: REPORT_PATH, register: (oauth) => void oauth.register(reportRoutes, deps) }] }
  },
  addCommands: ({ tokens }, context) => addEndTokensCommand(tokens, context),
  commandExamples: { 'tokens end': 'tokens end --stdin < leaked.txt' }
}
