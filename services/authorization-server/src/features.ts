import type { Feature } from './feature.js'
import { accessChoices } from './features/access-choices/access-choices-feature.js'
import { activity } from './features/activity/activity-feature.js'
import { authTime } from './features/auth-time/auth-time-feature.js'
import { clientDocuments } from './features/client-documents/client-documents-feature.js'
import { clientKeys } from './features/client-keys/client-keys-feature.js'
import { developerApps } from './features/developer-apps/developer-apps-feature.js'
import { dpop } from './features/dpop/dpop-feature.js'
import { fapi2 } from './features/fapi2/fapi2-feature.js'
import { foreignSignIn } from './features/foreign-sign-in/foreign-sign-in-feature.js'
import { invitations } from './features/invitations/invitations-feature.js'
import { leakedTokens } from './features/leaked-tokens/leaked-tokens-feature.js'
import { leavers } from './features/leavers/leavers-feature.js'
import { ownPages } from './features/own-pages/own-pages-feature.js'
import { passkeys } from './features/passkeys/passkeys-feature.js'
import { pushedRequests } from './features/pushed-requests/pushed-requests-feature.js'
import { refusedRequests } from './features/refused-requests/refused-requests-feature.js'
import { registryFile } from './features/registry-file/registry-file-feature.js'
import { securityMails } from './features/security-mails/security-mails-feature.js'
import { selections } from './features/selections/selections-feature.js'
import { tokenImport } from './features/token-import/token-import-feature.js'
import { userImport } from './features/user-import/user-import-feature.js'

/** The optional capabilities. To remove one, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [
  accessChoices,
  activity,
  authTime,
  clientDocuments,
  clientKeys,
  developerApps,
  dpop,
  fapi2,
  foreignSignIn,
  invitations,
  leakedTokens,
  leavers,
  ownPages,
  passkeys,
  pushedRequests,
  refusedRequests,
  registryFile,
  securityMails,
  selections,
  tokenImport,
  userImport
]
