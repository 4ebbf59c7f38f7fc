import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { ADD_SECRET, DELETE_SECRET } from '../../storage/postgres/client-changes.js'
import { type AppVersion, NEW_VERSION, OWN_CLIENT, type OwnerSession } from './app-change-sql.js'

/** Gives the app and its client a new version, so that a change by an operator at the same time fails. */
const NEW_VERSIONS = `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (update clients c set name = c.name from app where c.client_id = app.client_id returning c.client_id)` as const

const addSecret = defineChange('add_app_secret', `${NEW_VERSIONS}, ${ADD_SECRET}`)

const removeSecret = defineChange('remove_app_secret', `${NEW_VERSIONS}, ${DELETE_SECRET}`)

/** Secrets that the owners of an app add and delete. */
export function createAppSecretChangeStore(database: Database) {
  return {
    /** @returns false if the app has changed since it was read, the user is no owner any more or the session has ended */
    async add(session: OwnerSession, app: AppVersion, hash: TokenHash, note: AuditNote): Promise<boolean> {
      return makeAudited(database, addSecret({ ...session, ...app, secretHash: hash }, note))
    },

    /** Ends the secret at once. @returns as `add` */
    async remove(session: OwnerSession, app: AppVersion, secretId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, removeSecret({ ...session, ...app, secretId }, note))
    }
  }
}

export type AppSecretChangeStore = ReturnType<typeof createAppSecretChangeStore>
