import type { CanonicalName } from '@valetkey/sign-in-rules'
import { addressGroup, addressNetwork } from '../rate-limits/address-group.js'
import type { HashingTurn, PasswordQueue } from './password-queue.js'

/** @property client aborted when the client of the request has gone */
type Origin = { address: string; account: CanonicalName; isKnown: boolean; client: AbortSignal }

/** The turn of a request that has just arrived: all of its waiting and hashing ends at one deadline. */
export function turnOf(
  { address, account, isKnown, client }: Origin,
  queue: Pick<PasswordQueue, 'deadline'>
): HashingTurn {
  const origin = { network: addressNetwork(address), group: addressGroup(address), account, isKnown }
  return { ...origin, deadline: queue.deadline(), client }
}
