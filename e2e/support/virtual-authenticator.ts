import type { CDPSession, Page } from 'playwright-core'

/** What an authenticator of Chromium stores about a passkey (Chrome DevTools Protocol, WebAuthn). */
type StoredPasskey = { credentialId: string; signCount: number }

export type VirtualAuthenticator = {
  passkeys(): Promise<StoredPasskey[]>
  /** Replaces all passkeys. */
  restore(passkeys: readonly StoredPasskey[]): Promise<void>
  /** Whether the user passes the user verification: fingerprint, PIN and the like. */
  verifiesUser(verifies: boolean): Promise<void>
}

/** An authenticator that is part of the device and stores passkeys; it responds without a dialog. It belongs to this page. */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devtools: CDPSession = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true
    }
  })
  return {
    async passkeys() {
      return (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials
    },
    async restore(passkeys) {
      await devtools.send('WebAuthn.clearCredentials', { authenticatorId })
      for (const credential of passkeys) {
        await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: credential as never })
      }
    },
    async verifiesUser(isUserVerified) {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    }
  }
}
