import { isObject, isText, wrongMember } from '../../http/internal-json.js'
import type { ReportedUse, UseReport } from './app-use-store.js'

const MOST_USES = 500
const MOST_ITEMS = 1_000_000_000
/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799

const REPORT_ID = /^[A-Za-z0-9_-]{16,64}$/
const GRANT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const ACTION_NAME = /^[a-z][a-z0-9_]{0,63}$/

/**
 * Reads the body of `POST /uses`. Members that it does not know are ignored, so that a later guard may send more.
 * @throws {OAuthError} `invalid_request`, with the first wrong member
 */
export function readReport(body: unknown): UseReport {
  if (!isObject(body)) throw wrongMember('The body', 'an object')
  const { report_id: reportId, uses } = body
  if (!isText(reportId, REPORT_ID)) throw wrongMember('report_id', '16 to 64 base64url characters')
  if (!Array.isArray(uses) || uses.length > MOST_USES)
    throw wrongMember('uses', `a list of at most ${MOST_USES} objects`)
  return { reportId, uses: uses.map(readUse) }
}

function readUse(use: unknown, row: number): ReportedUse {
  const name = `uses[${row}]`
  if (!isObject(use)) throw wrongMember(name, 'an object')
  const { grant_id: grantId, action, count, last_at: lastAt } = use
  if (!isText(grantId, GRANT_ID)) throw wrongMember(`${name}.grant_id`, 'the grant_id of an introspection response')
  if (!isText(action, ACTION_NAME))
    throw wrongMember(`${name}.action`, '1 to 64 characters of a-z 0-9 _, a letter first')
  if (!isWhole(count, MOST_ITEMS)) throw wrongMember(`${name}.count`, `a whole number from 0 to ${MOST_ITEMS}`)
  if (!isWhole(lastAt, LAST_SECOND)) throw wrongMember(`${name}.last_at`, 'a time in whole seconds since 1970')
  return { grantId, action, count, lastAt: new Date(lastAt * 1_000) }
}

const isWhole = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
