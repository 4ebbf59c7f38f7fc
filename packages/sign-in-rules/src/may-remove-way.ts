/** The ways in which a user can sign in now. A way that this service is not configured for does not count. */
export type UsableWays = { hasPassword: boolean; passkeys: number; identities: number }

/**
 * Whether the user can still sign in after one way is removed.
 * @param isUsable whether it is one of these ways; an identity of an issuer that is not configured is none
 */
export function mayRemoveWay({ hasPassword, passkeys, identities }: UsableWays, isUsable = true): boolean {
  return Number(hasPassword) + passkeys + identities > Number(isUsable)
}
