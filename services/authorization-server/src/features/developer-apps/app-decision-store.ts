import type { Database } from '@valetkey/service-kit'
import { type AuditNote, makeAudited } from '../../storage/postgres/audited.js'
import { setSettings, settingsOf, takeNames } from './developer-app-change-store.js'
import { type AppSettings, type DeveloperApp, isSameClient } from './developer-app-store.js'

/** The revision that the operator saw. */
type Seen = Pick<DeveloperApp, 'clientId' | 'revision'>

/**
 * Locks the client $1 and decides about its app, if it waits for approval and has the revision $2. The lock makes one of two
 * decisions at the same moment the only one.
 */
const decide = (set: string, condition = 'true') => `
  client as (select c.client_id from clients c where c.client_id = $1 and ${condition} for update),
  app as (
    update developer_apps a set requested_at = null, decided_at = now(), ${set} from client
    where a.client_id = client.client_id and a.revision = $2 and a.requested_at is not null
    returning a.client_id)`

/** Decisions of operators about apps that users registered. */
export function createAppDecisionStore(database: Database) {
  return {
    /**
     * Publishes the app with these settings.
     * @param seen.version that the settings were read with
     * @param approved.settings of that revision; a name, home page or publisher that is new is not verified yet
     * @returns false if the app has another revision, does not wait for approval, or its client was changed since
     */
    async approve(
      { clientId, revision, version }: Seen & Pick<DeveloperApp, 'version'>,
      { settings, nameKeys, verified }: { settings: AppSettings; nameKeys: readonly string[]; verified: boolean },
      note: AuditNote
    ): Promise<boolean> {
      const parts = `${decide('pending = null, refusal = null', isSameClient('$14'))}, ${takeNames('$4')},
        changed as (
          update clients c set published = true, reviewed = true, ${setSettings(5, '$3')}
          from app where c.client_id = app.client_id returning c.client_id)`
      const values = [clientId, revision, verified, nameKeys, ...settingsOf(settings), version]
      return makeAudited(database, { name: 'approve_app', parts, values }, note)
    },

    /** @returns false if the app has another revision or does not wait for approval */
    async refuse({ clientId, revision }: Seen, reason: string, note: AuditNote): Promise<boolean> {
      const parts = `${decide('refusal = $3')}, changed as (select client_id from app)`
      return makeAudited(database, { name: 'refuse_app', parts, values: [clientId, revision, reason] }, note)
    }
  }
}

export type AppDecisionStore = ReturnType<typeof createAppDecisionStore>
