import { isObject, isText, wrongMember } from '../../http/internal-json.js'
import { NO_TEXT } from '../../platform/clients/client-name.js'
import type { AuthorizationDetail } from '../../storage/redis/code-record.js'

const TYPE = /^[A-Za-z0-9._~:/-]{1,128}$/
const IDENTIFIER = /^[A-Za-z0-9_-]{1,128}$/
const LONGEST_SUMMARY = 200
/** Line and paragraph separators, and what changes the direction of the text beside it. */
const NOT_IN_LINE = /[\u2028\u2029\u202a-\u202e\u2066-\u2069]/

/**
 * Reads the body of `POST /selections/start`. Members that it does not know are ignored.
 * @throws {OAuthError} `invalid_request`
 */
export function readStart(body: unknown): string {
  if (!isObject(body)) throw wrongMember('The body', 'an object')
  const { handover } = body
  if (typeof handover !== 'string') throw wrongMember('handover', 'the text in the address that was opened')
  return handover
}

/**
 * Reads the body of `POST /selections/finish`.
 * @throws {OAuthError} `invalid_request`, with the first wrong member
 */
export function readFinish(body: unknown): { handover: string; detail: AuthorizationDetail } {
  const handover = readStart(body)
  const { type, identifier, summary } = body as Record<string, unknown>
  if (!isText(type, TYPE)) throw wrongMember('type', '1 to 128 characters of A-Z a-z 0-9 . _ ~ : / -')
  if (!isText(identifier, IDENTIFIER)) throw wrongMember('identifier', '1 to 128 characters of A-Z a-z 0-9 _ -')
  if (!isSummary(summary)) {
    throw wrongMember('summary', `one line of 1 to ${LONGEST_SUMMARY} characters without control characters`)
  }
  return { handover, detail: { type, identifier, summary } }
}

function isSummary(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > LONGEST_SUMMARY) return false
  return !NO_TEXT.test(value) && !NOT_IN_LINE.test(value)
}
