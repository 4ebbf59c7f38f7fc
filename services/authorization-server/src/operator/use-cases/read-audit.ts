import { CLIENT_IDENTIFIER_RULE, isClientId } from '@valetkey/oauth-protocol'
import type { AuditEntry, AuditEntryStore, AuditFilter } from '../../storage/postgres/audit-entries.js'
import type { Page } from '../../storage/postgres/page.js'
import { AdministrationError } from './administration-error.js'
import { isRecordId } from './name-of-record.js'
import { type PageOf, readPage } from './pages.js'

export type AuditReading = { auditEntries: AuditEntryStore }

/** An unvalidated filter for audit events. Users and clients may have been deleted. */
export type AuditQuestion = {
  userId?: string | undefined
  clientId?: string | undefined
  event?: string | undefined
  requestId?: string | undefined
  traceId?: string | undefined
  /** The id of a client secret. */
  secretId?: string | undefined
  isChange?: boolean | undefined
  /** Id or name of what was changed; only changes have one. */
  subject?: string | undefined
  since?: string | undefined
}

/** Newest first. */
export function readAudit(
  filter: AuditFilter,
  { after, limit }: Page,
  { auditEntries }: AuditReading
): Promise<PageOf<AuditEntry>> {
  if (after !== undefined && !/^[0-9]{1,18}$/.test(after))
    throw invalid('after must be the value of next on the previous page')
  return readPage(
    { after, limit },
    (page) => auditEntries.list(filter, page),
    ({ eventId }) => eventId
  )
}

export function toAuditFilter(question: AuditQuestion): AuditFilter {
  const { userId, clientId, event, requestId, traceId, secretId, subject, since } = question
  if (userId !== undefined && !isRecordId(userId)) throw invalid('the user must be an id')
  if (clientId !== undefined && !isClientId(clientId))
    throw invalid(`a client id must have ${CLIENT_IDENTIFIER_RULE}, or be the URL of a metadata document`)
  if (event !== undefined && !/^[a-z_]{1,100}$/.test(event)) throw invalid('an event name must look like user_disabled')
  if (requestId !== undefined && !/^[\x21-\x7e]{1,100}$/.test(requestId)) throw invalid('that is not a request id')
  if (traceId !== undefined && !/^[0-9a-f]{32}$/.test(traceId)) {
    throw invalid('a trace id must have 32 hexadecimal digits in lower case')
  }
  if (secretId !== undefined && !/^[0-9a-f]{12}$/.test(secretId)) {
    throw invalid('a secret id must have 12 hexadecimal digits, as valetkey clients secrets shows it')
  }
  if (subject !== undefined && !/^[^\p{Cc}]{1,500}$/u.test(subject))
    throw invalid('that is not the id or name of a record')
  const isChange = question.isChange || subject !== undefined || undefined
  const from = since === undefined ? undefined : readTime(since)
  return { userId, clientId, event, requestId, traceId, secretId, isChange, subject, since: from }
}

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/
const UNITS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** Reads a time, or a duration before now. */
function readTime(given: string): AuditFilter['since'] {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? []
  if (count !== undefined) {
    return { secondsAgo: Number(count) * UNITS[unit as keyof typeof UNITS] }
  }
  const time = new Date(given)
  if (TIME.test(given) && !Number.isNaN(time.getTime())) return time
  throw invalid('a time must look like 2026-11-21T08:00:00Z, 2026-11-21, or 15m, 2h, 7d (ago)')
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}

export function auditDocument(entry: AuditEntry) {
  return {
    event_id: entry.eventId,
    occurred_at: entry.occurredAt.toISOString(),
    event: entry.event,
    ...(entry.requestId !== undefined && { request_id: entry.requestId }),
    ...(entry.traceId !== undefined && { trace_id: entry.traceId }),
    ...(entry.clientId !== undefined && { client_id: entry.clientId }),
    ...(entry.userId !== undefined && { user_id: entry.userId }),
    ...(entry.address !== undefined && { address: entry.address }),
    details: entry.details
  }
}
