import { type BrandingField, LONGEST_URL, readBrandingText } from '../../platform/clients/branding-texts.js'
import { encodeLogo, MOST_LOGO_PIXELS } from '../../platform/clients/encode-logo.js'
import { CLIENT_SETTINGS, namesOfKind } from '../../storage/client-settings-table.js'
import type { ClientBranding } from '../../storage/postgres/client-branding.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import { AdministrationError } from './administration-error.js'
import type { ClientSettings } from './client-members.js'

const RULES = {
  malformed: 'is not a complete address',
  text_direction: 'must not contain characters that change the text direction',
  too_long: `must have at most ${LONGEST_URL.toLocaleString('en')} characters`,
  not_https: 'must be an https address; http only for a loopback host',
  credentials: 'must not contain a user name or password'
} as const

/** @param settings undefined: unchanged; an empty text removes the member, null the logo */
export function withBranding(
  current: ClientBranding,
  settings: Pick<ClientSettings, keyof ClientBranding>
): ClientBranding {
  const { logo = current.logo } = settings
  const branding: ClientBranding = { ...(logo && { logo }) }
  for (const field of namesOfKind('text', 'url')) {
    const given = settings[field]
    const value = given === undefined ? current[field] : requireText(field, given)
    if (value !== undefined) branding[field] = value
  }
  return branding
}

function requireText(field: BrandingField, given: string): string | undefined {
  const outcome = readBrandingText(field, given)
  if (outcome.kind === 'text') return outcome.value
  const setting = CLIENT_SETTINGS[field]
  const isMalformedText = setting.kind === 'text' && outcome.kind === 'malformed'
  const rule = isMalformedText ? ruleOfText(setting.most) : RULES[outcome.kind]
  throw new AdministrationError('invalid', `the ${setting.words} ${rule}`)
}

const ruleOfText = (most: number) =>
  `must have 1 to ${most} characters, at least one of them visible, and no control characters`

/** Encodes an uploaded file and stores it. @returns its hash, for a client */
export async function storeLogo(file: Buffer, logos: Pick<ClientLogoStore, 'save'>): Promise<string> {
  const outcome = await encodeLogo(file)
  switch (outcome.kind) {
    case 'logo':
      await logos.save(outcome.logo)
      return outcome.logo.hash
    case 'too_large':
      throw new AdministrationError('invalid', 'a logo may have at most 1 MiB')
    case 'too_many_pixels':
      throw new AdministrationError('invalid', `each side of a logo may have at most ${MOST_LOGO_PIXELS} pixels`)
    case 'unreadable':
      throw new AdministrationError('invalid', 'a logo must be a complete PNG, JPEG or WebP image')
    case 'busy':
      throw new AdministrationError('busy', 'other logos are being encoded; try again')
  }
}
