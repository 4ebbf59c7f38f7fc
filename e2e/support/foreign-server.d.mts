/** `scopesOf` maps each resource to its scopes. */
export function startForeignServer(settings: {
  client: { id: string; secret: string; redirectUri: string }
  api: { id: string; secret: string }
  scopesOf: Record<string, string>
  /** Client metadata (RFC 7591 §2). */
  moreClients?: readonly object[]
}): Promise<{ issuer: string; close(): Promise<void> }>
