export declare const UPSTREAM: { clientId: string; clientSecret: string }

export type UpstreamProvider = {
  issuer: string
  /** The user who signs in from now on. */
  is(subject: string, claims: Record<string, unknown>): void
  close(): Promise<void>
}

/**
 * @param issuer of Valetkey, for the registered addresses
 * @param logoutUrl receives logout tokens over the network
 */
export declare function startUpstreamProvider(issuer: string, logoutUrl: string): Promise<UpstreamProvider>
