import { createTextMac, isTextMac, type MacKey } from '@valetkey/oauth-protocol'
import type { HandOver } from './hand-overs.js'

/** What one browser chooses: the hand-over, and the draft that has the ticked files. */
export type Choice = Omit<HandOver, 'expiresIn'> & { draftId: string; handOver: string; expiresAt: number }

const PURPOSE = 'choice 1'

/** The value of the cookie: readable, but no one else can make it. */
export function sealChoice(choice: Choice, keys: readonly MacKey[]): string {
  const text = Buffer.from(JSON.stringify(choice)).toString('base64url')
  return `${text}.${createTextMac(keys, `${PURPOSE}\n${text}`)}`
}

/** @returns undefined for a cookie that is malformed, of another draft, or too old */
export function openChoice(
  cookie: string | undefined,
  draftId: string,
  keys: readonly MacKey[],
  now: Date
): Choice | undefined {
  const [text = '', mac = ''] = cookie?.split('.') ?? []
  if (!isTextMac(mac, keys, `${PURPOSE}\n${text}`)) return undefined
  const choice = JSON.parse(Buffer.from(text, 'base64url').toString()) as Choice
  return choice.draftId === draftId && choice.expiresAt > now.getTime() ? choice : undefined
}

/** The hidden field of the form. */
export function formToken(choice: Choice, keys: readonly MacKey[]): string {
  return createTextMac(keys, formText(choice))
}

export function isFormToken(value: unknown, choice: Choice, keys: readonly MacKey[]): boolean {
  return typeof value === 'string' && isTextMac(value, keys, formText(choice))
}

const formText = ({ draftId, handOver }: Choice) => `form of a choice 1\n${draftId}\n${handOver}`
