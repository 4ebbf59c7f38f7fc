import { isClientIdUrl } from '@valetkey/oauth-protocol'
import { brandingValues } from '../../storage/postgres/client-branding.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { BrandingField } from './branding-texts.js'

/** How pages show a client. Each member is present, because templates are strict; undefined: not shown. */
export type AppBadge = Readonly<Record<BrandingField, string | undefined>> & {
  /** The host of the client id for a discovered client: it chose its own name. */
  name: string
  /** Shown if there is no logo. */
  initials: string
  /** A URL of this server. */
  logoUrl: string | undefined
  /** An operator has verified the publisher. */
  verified: boolean
}

export function appBadge(
  { clientId, name, verified, branding }: Pick<NewClient, 'clientId' | 'name' | 'verified' | 'branding'>,
  issuer: string
): AppBadge {
  const isDiscovered = isClientIdUrl(clientId)
  const shown = isDiscovered ? new URL(clientId).host : name
  const { logo, ...texts } = brandingValues(isDiscovered ? {} : branding)
  return {
    ...texts,
    name: shown,
    initials: initialsOf(shown),
    logoUrl: logo === undefined ? undefined : `${issuer}/logos/${logo}.png`,
    verified: verified && !isDiscovered
  }
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const BEFORE_WORD = /^[^\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}]+/u
/** More than two marks on one letter would cover the text around it. */
const TOO_MANY_MARKS = /(\p{M}{2})\p{M}+/gu
const ARABIC = /^\p{Script_Extensions=Arabic}/u
const ZERO_WIDTH_NON_JOINER = '\u200c'

/** The first character of the first two words, without joining Arabic letters: for an app or an account. */
export function initialsOf(name: string): string {
  const words = name.split(/[\p{Z}\s]+/u).map((word) => word.replace(BEFORE_WORD, ''))
  const found = words.filter((word) => word !== '').slice(0, 2)
  const [first = '', second = ''] = (found.length === 0 ? [name] : found).map(firstCharacter)
  return ARABIC.test(first) ? [first, second].join(ZERO_WIDTH_NON_JOINER) : first + second
}

function firstCharacter(word: string): string {
  const [first] = graphemes.segment(word)
  return (first?.segment ?? '').replace(TOO_MANY_MARKS, '$1').toUpperCase()
}
