import { CLIENT_SETTINGS, type NamesOfKind, namesOfKind } from '../client-settings-table.js'

type BrandingName = NamesOfKind<'text' | 'url' | 'logo'>

/** What pages show of a client beside its name. A discovered client has none. `logo`: SHA-256 of the image as it is served, hexadecimal. */
export type ClientBranding = { [Name in BrandingName]?: string | undefined }

export type BrandingRow = { [Name in BrandingName as (typeof CLIENT_SETTINGS)[Name]['member']]: string | null }

/** The names in the order of the columns. */
export const BRANDING_NAMES = namesOfKind('text', 'url', 'logo')

export const BRANDING_COLUMNS = BRANDING_NAMES.map((name) => CLIENT_SETTINGS[name].member).join(', ')

/** The text for a statement with `brandingValues`: the parameters of these columns, such as `:homePage`. */
export const BRANDING_PARAMETERS = BRANDING_NAMES.map((name) => `:${name}`).join(', ')

/** The text for an update with `brandingValues`, such as `home_page = :homePage`. */
export const SET_BRANDING = BRANDING_NAMES.map((name) => `${CLIENT_SETTINGS[name].member} = :${name}`).join(', ')

const NO_BRANDING = Object.fromEntries(BRANDING_NAMES.map((name) => [name, undefined])) as Record<
  BrandingName,
  undefined
>

/** With every member; undefined: not set. */
export function brandingValues(branding: ClientBranding): Record<BrandingName, string | undefined> {
  return { ...NO_BRANDING, ...branding }
}

export function toBranding(row: BrandingRow): ClientBranding {
  const branding: ClientBranding = {}
  for (const name of BRANDING_NAMES) {
    const value = row[CLIENT_SETTINGS[name].member]
    if (value !== null) branding[name] = value
  }
  return branding
}
