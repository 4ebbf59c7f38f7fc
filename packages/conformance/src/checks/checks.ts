import type { Check } from '../check.js'
import { authorizationChecks } from './authorization-checks.js'
import { codeChecks } from './code-checks.js'
import { dpopChecks } from './dpop-checks.js'
import { fapi2Checks } from './fapi2-checks.js'
import { metadataChecks } from './metadata-checks.js'
import { parChecks } from './par-checks.js'
import { redirectUriChecks } from './redirect-uri-checks.js'
import { refreshChecks } from './refresh-checks.js'
import { resourceChecks } from './resource-checks.js'
import { tokenEndpointChecks } from './token-endpoint-checks.js'

/** The checks run in this order: first what only reads, then refusals, then what needs a user. */
export const checks: readonly Check[] = [
  ...metadataChecks,
  ...fapi2Checks,
  ...resourceChecks.filter(({ needs = [] }) => !needs.includes('sign-in')),
  ...redirectUriChecks,
  ...authorizationChecks,
  ...tokenEndpointChecks,
  ...refreshChecks.filter(({ needs = [] }) => !needs.includes('sign-in')),
  ...dpopChecks.filter(({ needs = [] }) => !needs.includes('sign-in')),
  ...parChecks.filter(({ needs = [] }) => !needs.includes('sign-in')),
  ...resourceChecks.filter(({ needs = [] }) => needs.includes('sign-in')),
  ...codeChecks,
  ...refreshChecks.filter(({ needs = [] }) => needs.includes('sign-in')),
  ...dpopChecks.filter(({ needs = [] }) => needs.includes('sign-in')),
  ...parChecks.filter(({ needs = [] }) => needs.includes('sign-in'))
]
