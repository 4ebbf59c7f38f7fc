import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, makeAudited } from '../../storage/postgres/audited.js'
import { deleteSecret, insertSecret } from '../../storage/postgres/client-changes.js'
import { type AppVersion, changeOwn, NEW_VERSION, type OwnerSession, ownValues } from './developer-app-change-store.js'

/** Gives the client a new version as well, which makes a concurrent change by an operator fail. */
const NEW_VERSIONS = `${changeOwn(NEW_VERSION)},
  changed as (update clients c set name = c.name from app where c.client_id = app.client_id returning c.client_id)`

/** Secrets that the owners of an app add and delete. */
export function createAppSecretChangeStore(database: Database) {
  return {
    /** @returns false if the app has changed since it was read, the user is no owner any more or the session has ended */
    async add(session: OwnerSession, app: AppVersion, hash: TokenHash, note: AuditNote): Promise<boolean> {
      const parts = `${NEW_VERSIONS}, ${insertSecret('$6')}`
      return makeAudited(database, { name: 'add_app_secret', parts, values: [...ownValues(session, app), hash] }, note)
    },

    /** Ends the secret at once. @returns as `add` */
    async remove(session: OwnerSession, app: AppVersion, secretId: string, note: AuditNote): Promise<boolean> {
      const parts = `${NEW_VERSIONS}, ${deleteSecret('$6')}`
      return makeAudited(
        database,
        { name: 'remove_app_secret', parts, values: [...ownValues(session, app), secretId] },
        note
      )
    }
  }
}

export type AppSecretChangeStore = ReturnType<typeof createAppSecretChangeStore>
