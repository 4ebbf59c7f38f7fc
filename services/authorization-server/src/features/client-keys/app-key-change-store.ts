import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { ADD_KEYS, ADD_SECRET, END_OTHER_CREDENTIALS } from '../../storage/postgres/client-changes.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'
import { type AppVersion, NEW_VERSION, OWN_CLIENT, type OwnerSession } from '../developer-apps/app-change-sql.js'

/** The keys of an app, or their address. */
export type KeySource = { keys: readonly StoredJwk[]; jwksUri: string | undefined }

const setKeys = defineChange(
  'set_app_keys',
  `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (
    update clients c set private_key_jwt = :privateKeyJwt, jwks_uri = :jwksUri
    from app where c.client_id = app.client_id and c.type = 'confidential' returning c.client_id),
  ${ADD_KEYS},
  ${END_OTHER_CREDENTIALS}`
)

const useSecret = defineChange(
  'use_app_secret',
  `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (
    update clients c set private_key_jwt = null, jwks_uri = null
    from app where c.client_id = app.client_id and c.type = 'confidential' returning c.client_id),
  removed_keys as (delete from client_keys k using changed where k.client_id = changed.client_id),
  removed_sets as (delete from client_key_sets f using changed where f.client_id = changed.client_id),
  ${ADD_SECRET}`
)

/** How an app authenticates, as its owners change it. */
export function createAppKeyChangeStore(database: Database) {
  return {
    /**
     * The app authenticates with exactly these keys; its secrets and other keys end at once.
     * @returns false if the app has changed since it was read, the user is no owner any more or the session has ended
     */
    async setKeys(
      session: OwnerSession,
      app: AppVersion,
      { keys, jwksUri }: KeySource,
      note: AuditNote
    ): Promise<boolean> {
      const values = { privateKeyJwt: 'required', jwksUri, keys: JSON.stringify(keys) }
      return makeAudited(database, setKeys({ ...session, ...app, ...values }, note))
    },

    /** The app authenticates with this secret; its keys end at once. @returns as `setKeys` */
    async useSecret(session: OwnerSession, app: AppVersion, hash: TokenHash, note: AuditNote): Promise<boolean> {
      return makeAudited(database, useSecret({ ...session, ...app, secretHash: hash }, note))
    }
  }
}

export type AppKeyChangeStore = ReturnType<typeof createAppKeyChangeStore>
