import { CLIENT_SETTINGS, type NamesOfKind, namesOfKind } from '../client-settings-table.js'

type BrandingName = NamesOfKind<'text' | 'url' | 'logo'>

/** What pages show of a client beside its name. A discovered client has none. `logo`: SHA-256 of the image as it is served, hexadecimal. */
export type ClientBranding = { [Name in BrandingName]?: string | undefined }

export type BrandingRow = { [Name in BrandingName as (typeof CLIENT_SETTINGS)[Name]['member']]: string | null }

/** In the order of the columns. */
export const BRANDING_NAMES = namesOfKind('text', 'url', 'logo')

export const BRANDING_COLUMNS = BRANDING_NAMES.map((name) => CLIENT_SETTINGS[name].member).join(', ')

export function toBranding(row: BrandingRow): ClientBranding {
  const branding: ClientBranding = {}
  for (const name of BRANDING_NAMES) {
    const value = row[CLIENT_SETTINGS[name].member]
    if (value !== null) branding[name] = value
  }
  return branding
}
