import { parseParameters } from '@valetkey/oauth-protocol'
import { groupRoutes } from '@valetkey/service-kit'
import type { Feature } from '../../feature.js'
import type { Selections } from '../../platform/selections.js'
import { SELECTION_EVENTS } from './audit-events.js'
import { CHANGE_PATH, changeRoutes } from './change-routes.js'
import { createChosenGrantStore } from './chosen-grant-store.js'
import { type ChosenStore, createChosenStore } from './chosen-store.js'
import { handOver } from './hand-over.js'
import { handoverRoutes } from './handover-routes.js'
import { createHandoverStore, type HandoverStore } from './handover-store.js'

/** Users choose on a page of an API what an app gets access to. */
export const selections: Feature = {
  start({ config, database, redis, records, stores, platform }) {
    const { issuer, cookieKeys, resourceUrl: defaultAudience } = config
    const { audit, limiter, usage } = platform
    const handovers = createHandoverStore(redis, records)
    const chosen = createChosenStore(redis, records)
    const { resourceServers, scopes } = stores.registry
    const caller = { resourceServers, limiter, usage: usage.resourceServers }
    const deps = { handovers, chosen, chosenGrants: createChosenGrantStore(database), pending: stores.pending, audit }
    return {
      selections: { ...choicesOfRequests(handovers, chosen), changeUrl: `${issuer}${CHANGE_PATH}` },
      internalEndpoints(internal) {
        internal.register(async (scope) => {
          groupRoutes(scope, 'feed')
          scope.register(handoverRoutes, { ...deps, ...caller })
        })
      },
      accountPages(account) {
        const { connectedApps } = stores
        const page = { issuer, cookieKeys, audit, limiter, defaultAudience }
        account.register(changeRoutes, { ...page, connectedApps, scopes, handovers })
      }
    }
  },
  auditEvents: SELECTION_EVENTS
}

/** What users choose before Allow. */
function choicesOfRequests(handovers: HandoverStore, chosen: ChosenStore): Pick<Selections, 'find' | 'begin'> {
  return {
    async find(pending) {
      const { detail, draft } = await chosen.find(pending)
      return { detail, draft: draft === undefined ? undefined : parseParameters(draft) }
    },

    async begin({ pending, client, audience, draft, ...page }) {
      await chosen.saveDraft(pending, draft)
      const handover = {
        ...page,
        audience,
        userId: pending.userId,
        clientId: client.clientId,
        clientName: client.name,
        purpose: { kind: 'request', pendingHash: pending.hash }
      } as const
      return handOver(handover, handovers)
    }
  }
}
