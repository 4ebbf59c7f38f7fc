import type { Feature, FeatureParts, FeatureSurfaces } from '../../feature.js'
import { createAccessEndStore } from './access-end-store.js'
import { ACCESS_CHOICE_EVENTS } from './audit-events.js'
import { createAccessEnds } from './choices-of-client.js'
import { evaluateAccessChoices } from './evaluate-access-choices.js'
import { SHORTENING_PATH, shorteningRoutes } from './shortening-routes.js'

/** Lets users choose at Allow when the access of an app ends. */
export const accessChoices: Feature = {
  start: (parts) => (parts.config.accessChoices.choices.length === 0 ? {} : askForEnds(parts)),
  auditEvents: ACCESS_CHOICE_EVENTS,
  examineSettings: (config) => [evaluateAccessChoices(config)]
}

function askForEnds({ config, database, stores, platform }: FeatureParts): FeatureSurfaces {
  const { issuer, cookieKeys, accessChoices } = config
  const { accessTokenTtl, refreshTokenIdleTtl, refreshTokenMaxTtl } = config
  const lifetimes = {
    accessToken: accessTokenTtl,
    refreshTokenIdle: refreshTokenIdleTtl,
    refreshTokenMax: refreshTokenMaxTtl
  }
  return {
    accessEnds: createAccessEnds(accessChoices, lifetimes, `${issuer}${SHORTENING_PATH}`),
    // draft-ietf-oauth-refresh-token-expiration-02
    serverMetadata: { refresh_token_expiration_types_supported: ['authorization', 'token_timeout'] },
    accountPages: (account) =>
      void account.register(shorteningRoutes, {
        issuer,
        cookieKeys,
        audit: platform.audit,
        limiter: platform.limiter,
        now: platform.now,
        choices: accessChoices.choices,
        connectedApps: stores.connectedApps,
        accessEnds: createAccessEndStore(database)
      })
  }
}
