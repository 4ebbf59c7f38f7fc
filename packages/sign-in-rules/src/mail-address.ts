/** A sender or recipient (RFC 5322 §3.4). @property name empty if there is none */
export type Mailbox = { name: string; address: string }

/** RFC 5322 §3.2.3, with the letters of RFC 6531. */
const LOCAL_PART = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?$/u
const NAMED = /^(?:"([^"\\\p{C}]*)"|([^"<>,;:@\\\p{C}]*))\s*<([^<>]*)>$/u

/** Whether this is one address without a display name. Only its mail server knows whether it exists. */
export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const [localPart, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  if (text.length > 254 || localPart.length > 64 || !LOCAL_PART.test(localPart)) return false
  return domain.split('.').every((label) => label.length <= 63 && LABEL.test(label))
}

/** Reads `a@example.com`, `Name <a@example.com>` or `"Name" <a@example.com>`. @returns undefined for anything else, also a list */
export function readMailbox(text: string): Mailbox | undefined {
  const [, quoted, plain, inBrackets] = NAMED.exec(text.trim()) ?? []
  const mailbox = { name: (quoted ?? plain ?? '').trim(), address: inBrackets ?? text.trim() }
  return isMailAddress(mailbox.address) ? mailbox : undefined
}
