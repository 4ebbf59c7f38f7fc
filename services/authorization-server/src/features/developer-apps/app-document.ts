import { membersOfSettings } from '../../operator/use-cases/client-members.js'
import type { AppSettings, AppSummary, DeveloperApp } from './developer-app-store.js'

/** An app in a list. */
export function appSummaryDocument({ clientId, name, state, revision, requestedAt, hasPendingChange }: AppSummary) {
  return {
    client_id: clientId,
    name,
    state,
    revision,
    pending_change: hasPendingChange,
    ...(requestedAt && { requested_at: requestedAt.toISOString() })
  }
}

/** An app for operators, with what they decide about. */
export function appDocument(app: DeveloperApp) {
  return {
    client_id: app.clientId,
    type: app.type,
    state: app.state,
    revision: app.revision,
    ...settingsDocument(app.settings),
    ...(app.pending && { pending: settingsDocument(app.pending) }),
    verified: app.verified,
    owners: app.owners.map(({ userId, username, disabled }) => ({ user_id: userId, username, disabled })),
    testers: app.testers,
    created_at: app.createdAt.toISOString(),
    ...(app.requestedAt && { requested_at: app.requestedAt.toISOString() }),
    ...(app.decidedAt && { decided_at: app.decidedAt.toISOString() }),
    ...(app.refusal !== undefined && { refusal: app.refusal })
  }
}

function settingsDocument({ branding, ...settings }: AppSettings) {
  return membersOfSettings({ ...settings, ...branding })
}
