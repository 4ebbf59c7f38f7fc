import type { Renewal, Session } from '../session/session-store.js'
import type { FetchFiles, FetchOutcome } from './fetch-files.js'

export type ListDeps = {
  fetchFiles: FetchFiles
  renewAccess: (session: Session, refusedToken: string) => Promise<Renewal>
  now: () => number
}

export type ListOutcome =
  | Exclude<FetchOutcome, { kind: 'token_refused' }>
  | { kind: 'not_connected' }
  | { kind: 'access_ended' | 'sign_in_unreachable'; cause: unknown }

/** Lists files with the current token. If it has expired or is refused, refreshes it once and tries again. */
export async function listFiles(session: Session, pageToken: string | undefined, deps: ListDeps): Promise<ListOutcome> {
  const { connection } = session
  if (connection === undefined) return { kind: 'not_connected' }
  const { accessToken, expiresAt } = connection.tokens
  if (expiresAt === undefined || deps.now() < expiresAt) {
    const outcome = await deps.fetchFiles(accessToken, pageToken)
    if (outcome.kind !== 'token_refused') return outcome
  }
  const renewal = await deps.renewAccess(session, accessToken)
  if (renewal.kind === 'unreachable') return { kind: 'sign_in_unreachable', cause: renewal.cause }
  if (renewal.kind === 'renewed') {
    const outcome = await deps.fetchFiles(connection.tokens.accessToken, pageToken)
    if (outcome.kind !== 'token_refused') return outcome
  }
  // Another tab may have connected meanwhile; the newer tokens are kept.
  if (session.connection === connection) session.connection = undefined
  return { kind: 'access_ended', cause: renewal.kind === 'ended' ? renewal.cause : undefined }
}
