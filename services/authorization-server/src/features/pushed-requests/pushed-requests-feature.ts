import type { Feature, FeatureParts, FeatureSurfaces } from '../../feature.js'
import { createRandomPool } from '../../platform/random-pool.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { evaluatePushedRequests } from './evaluate-pushed-requests.js'
import { findPushedRequest, namesPushedRequest } from './find-pushed-request.js'
import { PUSH_PATH, pushedRequestRoutes } from './pushed-request-routes.js'
import { createPushedRequestStore } from './pushed-request-store.js'

/** Pushed authorization requests (RFC 9126). */
export const pushedRequests: Feature = {
  start: (parts) => (parts.config.pushedRequests === 'off' ? {} : acceptPushedRequests(parts)),
  examineRecords: {
    check: 'PUSHED_REQUESTS',
    async examine(config, database) {
      const clients = (await createClientStore(database).list()).filter(({ disabled }) => !disabled)
      const pushing = clients.filter(({ requiresPushedRequests }) => requiresPushedRequests === true)
      const ids = pushing.map(({ clientId }) => clientId)
      return [evaluatePushedRequests(config, ids)]
    }
  }
}

function acceptPushedRequests({ config, redis, records, platform: { limiter } }: FeatureParts): FeatureSurfaces {
  const areRequired = config.pushedRequests === 'required'
  const requests = createPushedRequestStore(redis, records)
  const randomBytes = createRandomPool()
  return {
    requestReferences: {
      areRequired,
      areIn: namesPushedRequest,
      find: (parameters, browser, includesUsed) => findPushedRequest(parameters, browser, includesUsed, requests)
    },
    clientEndpoints: [
      {
        path: PUSH_PATH,
        register: (oauth, parts) =>
          void oauth.register(pushedRequestRoutes, { ...parts, requests, limiter, randomBytes })
      }
    ],
    serverMetadata: {
      pushed_authorization_request_endpoint: `${config.issuer}${PUSH_PATH}`,
      require_pushed_authorization_requests: areRequired
    }
  }
}
