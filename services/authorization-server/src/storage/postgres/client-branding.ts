/** What pages show of a client beside its name. A discovered client has none. */
export type ClientBranding = {
  homePage?: string | undefined
  /** The company or person that runs it. */
  publisher?: string | undefined
  privacyPolicy?: string | undefined
  terms?: string | undefined
  /** SHA-256 of the logo as it is served, hexadecimal. */
  logo?: string | undefined
}

export type BrandingRow = {
  home_page: string | null
  publisher: string | null
  privacy_policy: string | null
  terms: string | null
  logo: string | null
}

export const BRANDING_COLUMNS = 'home_page, publisher, privacy_policy, terms, logo'

export function toBranding(row: BrandingRow): ClientBranding {
  return {
    ...(row.home_page !== null && { homePage: row.home_page }),
    ...(row.publisher !== null && { publisher: row.publisher }),
    ...(row.privacy_policy !== null && { privacyPolicy: row.privacy_policy }),
    ...(row.terms !== null && { terms: row.terms }),
    ...(row.logo !== null && { logo: row.logo })
  }
}
