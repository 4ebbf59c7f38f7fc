import type { Feature } from './feature.js'
import { clientDocuments } from './features/client-documents/client-documents-feature.js'
import { developerApps } from './features/developer-apps/developer-apps-feature.js'
import { foreignSignIn } from './features/foreign-sign-in/foreign-sign-in-feature.js'
import { invitations } from './features/invitations/invitations-feature.js'
import { ownPages } from './features/own-pages/own-pages-feature.js'
import { passkeys } from './features/passkeys/passkeys-feature.js'
import { refusedRequests } from './features/refused-requests/refused-requests-feature.js'
import { registryFile } from './features/registry-file/registry-file-feature.js'
import { userImport } from './features/user-import/user-import-feature.js'

/** The optional capabilities. To remove one, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [
  clientDocuments,
  developerApps,
  foreignSignIn,
  invitations,
  ownPages,
  passkeys,
  refusedRequests,
  registryFile,
  userImport
]
