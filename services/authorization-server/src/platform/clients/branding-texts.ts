import { parseUrl } from '@valetkey/oauth-protocol'
import { isLoopback } from '@valetkey/service-kit'
import { CLIENT_SETTINGS, type NamesOfKind } from '../../storage/client-settings-table.js'
import { readName } from './client-name.js'

export const LONGEST_URL = 2_000

/** A member of a branding that is typed. */
export type BrandingField = NamesOfKind<'text' | 'url'>

/** `value`: in the form that is stored; undefined for an empty text, which removes the member. */
export type BrandingTextOutcome =
  | { kind: 'text'; value: string | undefined }
  | { kind: 'malformed' | 'text_direction' | 'too_long' | 'not_https' | 'credentials' }

/** A text is like a name, with a length of its own. An address of a web page has up to 2,000 characters. */
export function readBrandingText(field: BrandingField, given: string): BrandingTextOutcome {
  if (given.trim() === '') return { kind: 'text', value: undefined }
  const setting = CLIENT_SETTINGS[field]
  return setting.kind === 'text' ? readText(given, setting.most) : readPageUrl(given.trim())
}

function readText(given: string, most: number): BrandingTextOutcome {
  const outcome = readName(given, most)
  return outcome.kind === 'name' ? { kind: 'text', value: outcome.name } : outcome
}

/** Characters that a browser would drop or replace: the address would not be the one that was read. */
const NOT_IN_URL = /[\s\p{C}\\]/u

/** The URL is stored normalised, so that a host that imitates another is shown in Punycode. */
function readPageUrl(given: string): BrandingTextOutcome {
  if (given.length > LONGEST_URL) return { kind: 'too_long' }
  const url = NOT_IN_URL.test(given) ? undefined : parseUrl(given)
  if (url === undefined) return { kind: 'malformed' }
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  if (!isAllowed) return { kind: 'not_https' }
  // Before the host, they make it look like another: https://bank.example@evil.example/
  if (url.username !== '' || url.password !== '') return { kind: 'credentials' }
  return url.href.length > LONGEST_URL ? { kind: 'too_long' } : { kind: 'text', value: url.href }
}
