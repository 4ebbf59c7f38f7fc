import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { IS_SAME_CLIENT, KEEPS_VERIFIED, SET_SETTINGS, settingValues, TAKE_NAMES } from './app-change-sql.js'
import type { AppSettings, DeveloperApp } from './developer-app-store.js'

/** The revision that the operator saw. */
type Seen = Pick<DeveloperApp, 'clientId' | 'revision'>

// Both statements lock the client first: of two decisions at the same moment, one takes effect.

const approveApp = defineChange(
  'approve_app',
  `client as (
    select c.client_id from clients c where c.client_id = :clientId and ${IS_SAME_CLIENT} for update),
  app as (
    update developer_apps a set requested_at = null, decided_at = now(), pending = null, refusal = null from client
    where a.client_id = client.client_id and a.revision = :revision and a.requested_at is not null
    returning a.client_id),
  ${TAKE_NAMES},
  changed as (
    update clients c set published = true, reviewed = true, ${SET_SETTINGS},
      verified_at = case when :verified then coalesce(c.verified_at, now()) when ${KEEPS_VERIFIED} then c.verified_at end
    from app where c.client_id = app.client_id returning c.client_id)`
)

const refuseApp = defineChange(
  'refuse_app',
  `client as (select c.client_id from clients c where c.client_id = :clientId for update),
  app as (
    update developer_apps a set requested_at = null, decided_at = now(), refusal = :reason from client
    where a.client_id = client.client_id and a.revision = :revision and a.requested_at is not null
    returning a.client_id),
  changed as (select client_id from app)`
)

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
      const values = { clientId, revision, version, verified, nameKeys, ...settingValues(settings) }
      return makeAudited(database, approveApp(values, note))
    },

    /** @returns false if the app has another revision or does not wait for approval */
    async refuse({ clientId, revision }: Seen, reason: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, refuseApp({ clientId, revision, reason }, note))
    }
  }
}

export type AppDecisionStore = ReturnType<typeof createAppDecisionStore>
