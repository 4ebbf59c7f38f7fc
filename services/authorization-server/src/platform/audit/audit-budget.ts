import type { AuditEventRecord } from '../../storage/postgres/audit-events.js'
import { addressGroup } from '../rate-limits/address-group.js'
import { openMinuteLimits } from '../rate-limits/minute-limits.js'
import { type AuditEventKind, type AuditEventKinds, type AuditEventName, CORE_EVENTS } from './audit-event.js'

/** Reasons of refusals whose client id was not found, or not looked up. */
const CLIENT_NOT_FOUND: ReadonlySet<unknown> = new Set([
  'unknown_client',
  'request_too_long',
  'invalid_request_uri',
  'client_id_malformed',
  'client_id_not_allowed'
])

const RATE_LIMITED = /^too_many_/

/**
 * Maximum rows per minute and process, by the party that caused the event. `total`: rows of single events; `perParty` and
 * `perAddress`: the share of one client or user, and of one address group. `counts`: rows with a count, in total, and for one
 * party or address group.
 */
const ROWS = {
  /** An authenticated client, or a user with a session. `perParty` is for each event name. */
  authenticated: { total: 3_000, perParty: 300, perAddress: undefined, counts: { total: 30, each: 5 } },
  /** A request that names a registered client or an existing user, without authentication. */
  named: { total: 500, perParty: 150, perAddress: 60, counts: { total: 30, each: 5 } },
  anonymous: { total: 50, perParty: undefined, perAddress: 5, counts: { total: 30, each: 5 } },
  rateLimited: { total: 0, perParty: undefined, perAddress: undefined, counts: { total: 30, each: 5 } }
} as const

/** Rows of each address for each client or user that it names, even if other addresses have used up `perParty`. */
const FIRST_OF_AN_ADDRESS = 5

/** The party that caused an event, and the client or user that it concerns, if they exist. */
type Party = {
  standing: keyof typeof ROWS
  clientId?: string | undefined
  userId?: string | undefined
  /** The id of the secret with which the client authenticated. */
  secretId?: string | undefined
}

/** An event as a row of the table, before the budget decides. */
export type AuditCandidate = AuditEventRecord & { event: AuditEventName }

export type AuditMinute = {
  /**
   * @param authenticatedSecretId of the secret with which a client authenticated in this request
   * @returns whether the event gets its own row; otherwise it is counted in one of `countRows`
   */
  allowsRow(row: AuditCandidate, authenticatedSecretId: string | undefined): boolean
  /** One row for each event, reason, party and address group, within the limits; the rest is counted in one row per event. */
  countRows(): AuditEventRecord[]
}

/**
 * Decides for one minute which events become rows of the audit table. The limits bound rows and memory, and one address or party
 * does not use up the rows of another.
 * @param kinds of all events
 */
export function openAuditMinute(kinds: AuditEventKinds = CORE_EVENTS): AuditMinute {
  const take = openMinuteLimits()
  const counted = new Map<string, { first: AuditEventRecord; count: number }>()

  function count(row: AuditCandidate, party: Party, group: string): void {
    const { standing } = party
    const { total, each } = ROWS[standing].counts
    const owner = standing === 'authenticated' ? nameOf(party) : group
    const key = JSON.stringify([standing, row.event, row.details.reason, nameOf(party), group])
    const hasRow = counted.has(key) || take([`counts ${standing}`, total], [`counts ${standing} of ${owner}`, each])
    const place = hasRow ? key : row.event
    const found = counted.get(place)
    if (found === undefined)
      counted.set(place, { first: hasRow ? countRow(row, party, group) : restRow(row), count: 1 })
    else found.count += 1
  }

  return {
    allowsRow(row, authenticatedSecretId) {
      const party = partyOf(row, kinds[row.event], authenticatedSecretId)
      if (party === undefined) return true
      const { standing } = party
      const { total, perParty, perAddress } = ROWS[standing]
      const owner = standing === 'authenticated' ? `${row.event} ${nameOf(party)}` : nameOf(party)
      const group = addressGroup(row.address ?? '')
      // The first events of an address get rows even if other addresses have used up the rows of the client or user. `total`
      // also limits how many addresses are stored.
      const isFirst =
        standing === 'named' && take(['firsts', total], [`first of ${owner} at ${group}`, FIRST_OF_AN_ADDRESS])
      const allowed = take(
        [standing, total],
        [`${standing} of ${owner}`, isFirst ? undefined : perParty],
        [`${standing} at ${group}`, perAddress]
      )
      if (!allowed) count(row, party, group)
      return allowed
    },
    countRows: () =>
      [...counted.values()].map(({ first, count }) => ({ ...first, details: { ...first.details, count } }))
  }
}

/** @returns undefined if the event always gets a row */
function partyOf(
  row: AuditCandidate,
  kind: AuditEventKind | undefined,
  secretId: string | undefined
): Party | undefined {
  const { event, clientId, userId, details } = row
  if (kind === 'decision') return undefined
  if (kind === 'repetition') return { standing: 'authenticated', clientId, userId, secretId }
  if (secretId !== undefined) return { standing: 'authenticated', clientId, secretId }
  // A failed sign-in names the user whose password was tried; any other refusal names the user of the session.
  if (userId !== undefined && event !== 'sign_in_failed') return { standing: 'authenticated', userId }
  if (RATE_LIMITED.test(String(details.reason))) return { standing: 'rateLimited' }
  if (userId !== undefined) return { standing: 'named', userId }
  // The budget is that of an existing client only, because the number of invented client ids is unlimited.
  if (clientId !== undefined && !CLIENT_NOT_FOUND.has(details.reason)) return { standing: 'named', clientId }
  return { standing: 'anonymous' }
}

function nameOf({ clientId, userId, secretId }: Party): string {
  return JSON.stringify([clientId, userId, secretId])
}

/** The fields that all counted events share, and the request of the first one. */
function countRow(row: AuditCandidate, { clientId, userId, secretId }: Party, group: string): AuditEventRecord {
  const details = { reason: row.details.reason, ...(secretId !== undefined && { secretId }) }
  return { ...row, clientId, userId, address: group, details }
}

/** A row for events of different parties, addresses and reasons. */
function restRow(row: AuditCandidate): AuditEventRecord {
  return { ...row, clientId: undefined, userId: undefined, address: undefined, details: {} }
}

/** The number of events in these rows. */
export function eventsIn(rows: readonly AuditEventRecord[]): number {
  return rows.reduce((sum, { details: { count } }) => sum + (typeof count === 'number' ? count : 1), 0)
}
