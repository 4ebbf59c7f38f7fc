/** The service as WebAuthn sees it (WebAuthn Level 3 §4). */
export type RelyingParty = {
  /** A passkey works for this host only. */
  id: string
  /** Scheme, host and port, as browsers write it. */
  origin: string
}

/** @returns undefined if the host of the issuer is an IP address: browsers create no passkeys for those (WebAuthn §5.1.3) */
export function relyingParty(issuer: string): RelyingParty | undefined {
  const { hostname, origin } = new URL(issuer)
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  return isAddress ? undefined : { id: hostname, origin }
}
