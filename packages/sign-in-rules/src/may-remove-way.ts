/** The ways in which a user can sign in now. A way that this service is not configured for does not count. */
export type UsableWays = { hasPassword: boolean; passkeys: number; identities: number }

/** Whether the user can still sign in after one of these ways is removed. */
export function mayRemoveWay({ hasPassword, passkeys, identities }: UsableWays): boolean {
  return Number(hasPassword) + passkeys + identities > 1
}
