import { findClient } from '../../operator/use-cases/administer-client.js'
import type { Language } from '../../platform/i18n/language.js'
import type { ClientStore } from '../../storage/postgres/clients.js'
import type { ClientRefusalStore, StoredClientRefusal } from './client-refusal-store.js'
import { textsOfReason } from './shown-reason.js'

export type RefusalReading = {
  clients: Pick<ClientStore, 'find'>
  refusals: Pick<ClientRefusalStore, 'list'>
  english: Language
}

/** The last refused requests of a client, newest first. @throws {AdministrationError} if there is no such client */
export async function readRefusals(clientId: string, limit: number, deps: RefusalReading) {
  await findClient(clientId, deps)
  return (await deps.refusals.list(clientId, limit)).map((refusal) => refusalDocument(refusal, deps.english))
}

function refusalDocument(refusal: StoredClientRefusal, english: Language) {
  const { what, remedy } = textsOfReason(refusal.reason)
  return {
    occurred_at: refusal.occurredAt.toISOString(),
    endpoint: refusal.endpoint,
    error: refusal.error,
    reason: refusal.reason,
    explanation: english.toText({ key: what }),
    remedy: english.toText({ key: remedy }),
    ...(refusal.description !== undefined && { error_description: refusal.description }),
    ...(refusal.redirectUri !== undefined && { redirect_uri: refusal.redirectUri }),
    request_id: refusal.requestId,
    authenticated: refusal.authenticated
  }
}
