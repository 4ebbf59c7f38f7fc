import { createTextMac, isTextMac, type MacKey } from '@valetkey/oauth-protocol'
import type { HandOver } from './hand-overs.js'

/** What one browser chooses: the hand-over, and the draft that has the ticked files. */
export type Choice = Omit<HandOver, 'expiresIn'> & { draftId: string; handOver: string; expiresAt: number }

/** What was chosen last in this browser, for the same request. */
export type LastChoice = Pick<Choice, 'ownerId' | 'returnTo' | 'expiresAt'> & { selectionId: string }

const PURPOSE = 'choice 1'
const LAST_PURPOSE = 'last choice 1'

/** The value of the cookie of a draft. */
export const sealChoice = (choice: Choice, keys: readonly MacKey[]): string => seal(choice, PURPOSE, keys)

/** The value of the cookie of all drafts. */
export const sealLastChoice = (last: LastChoice, keys: readonly MacKey[]): string => seal(last, LAST_PURPOSE, keys)

/** @returns undefined for a cookie that is malformed, of another draft, or too old */
export function openChoice(
  cookie: string | undefined,
  draftId: string,
  keys: readonly MacKey[],
  now: Date
): Choice | undefined {
  const choice = open(cookie, PURPOSE, keys, now) as Choice | undefined
  return choice?.draftId === draftId ? choice : undefined
}

/**
 * The id of the selection that was made last for a request: each request has its own address for the return.
 * @returns undefined if there is none, or the cookie is of another user or request
 */
export function openLastChoice(
  cookie: string | undefined,
  { ownerId, returnTo }: Pick<Choice, 'ownerId' | 'returnTo'>,
  keys: readonly MacKey[],
  now: Date
): string | undefined {
  const last = open(cookie, LAST_PURPOSE, keys, now) as LastChoice | undefined
  return last?.ownerId === ownerId && last.returnTo === returnTo ? last.selectionId : undefined
}

/** Readable for everyone, but only made with a key of this server. */
function seal(value: object, purpose: string, keys: readonly MacKey[]): string {
  const text = Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${text}.${createTextMac(keys, `${purpose}\n${text}`)}`
}

function open(cookie: string | undefined, purpose: string, keys: readonly MacKey[], now: Date): unknown {
  const [text = '', mac = ''] = cookie?.split('.') ?? []
  if (!isTextMac(mac, keys, `${purpose}\n${text}`)) return undefined
  const value = JSON.parse(Buffer.from(text, 'base64url').toString()) as { expiresAt: number }
  return value.expiresAt > now.getTime() ? value : undefined
}

/** The hidden field of the form. */
export function formToken(choice: Choice, keys: readonly MacKey[]): string {
  return createTextMac(keys, formText(choice))
}

export function isFormToken(value: unknown, choice: Choice, keys: readonly MacKey[]): boolean {
  return typeof value === 'string' && isTextMac(value, keys, formText(choice))
}

const formText = ({ draftId, handOver }: Choice) => `form of a choice 1\n${draftId}\n${handOver}`
