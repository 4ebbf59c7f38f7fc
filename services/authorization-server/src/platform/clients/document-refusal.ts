import { CHECKED_MEMBERS, type CheckedMember } from '@valetkey/oauth-protocol'

/** The error page of a refusal. */
type RefusalPage = 'client_not_allowed' | 'client_unreachable' | 'client_document_invalid' | 'client_too_many'

const PAGE_OF = {
  client_id_not_allowed: 'client_not_allowed',
  client_disabled: 'client_not_allowed',
  client_id_malformed: 'client_document_invalid',
  document_unresolved: 'client_unreachable',
  // The page does not show it: it would tell how names resolve inside the network.
  document_address_refused: 'client_unreachable',
  document_timeout: 'client_unreachable',
  document_connection_failed: 'client_unreachable',
  document_server_error: 'client_unreachable',
  document_keys_unreachable: 'client_unreachable',
  document_keys_address_refused: 'client_unreachable',
  document_redirect: 'client_document_invalid',
  document_missing: 'client_document_invalid',
  document_status: 'client_document_invalid',
  document_media_type: 'client_document_invalid',
  document_encoded: 'client_document_invalid',
  document_too_large: 'client_document_invalid',
  document_response_malformed: 'client_document_invalid',
  document_not_json: 'client_document_invalid',
  too_many_client_documents: 'client_too_many'
} as const satisfies Readonly<Record<string, RefusalPage>>

type MemberReason = `document_member_${CheckedMember}`
export type RefusalReason = keyof typeof PAGE_OF | MemberReason

const MEMBER_REASONS: readonly MemberReason[] = CHECKED_MEMBERS.map((member) => `document_member_${member}` as const)

/** Every exact cause, as in log, audit and metrics. */
export const REFUSAL_REASONS: readonly RefusalReason[] = [
  ...(Object.keys(PAGE_OF) as (keyof typeof PAGE_OF)[]),
  ...MEMBER_REASONS
]

/** Why a client id URL is not used. */
export type ClientRefusal = {
  reason: RefusalReason
  /** The detail for the developer of the app; empty if the page must not say more. */
  detail: string
  /** The seconds of a 429. */
  retryAfterSeconds?: number | undefined
}

export function pageOfRefusal({ reason }: ClientRefusal): RefusalPage {
  return reason in PAGE_OF ? PAGE_OF[reason as keyof typeof PAGE_OF] : 'client_document_invalid'
}

/** Whether the app's server could not be used at this moment: then an earlier copy of the document may be used. */
export function isTransient({ reason }: ClientRefusal): boolean {
  return (
    reason === 'document_unresolved' ||
    reason === 'document_timeout' ||
    reason === 'document_connection_failed' ||
    reason === 'document_server_error' ||
    reason === 'document_keys_unreachable'
  )
}
