import { createHash } from 'node:crypto'
import { addressGroup } from './address-group.js'

/** How many failures of one kind are put up with in a window. The name holds hashes only. */
export type Limit = { name: string; count: number; windowSeconds: number }

const QUARTER_HOUR = 900
const MINUTE = 60

/**
 * Failed sign-ins (contract "Limits"). The one over all addresses would let anybody lock an account out, so a browser
 * that has signed in to that account before passes it.
 */
export function signInLimits(account: string, address: string, knownBrowser: boolean): readonly Limit[] {
  const from = addressGroup(address)
  const perPair = { name: `sign-in:${hashed(`${account}\n${from}`)}`, count: 20, windowSeconds: QUARTER_HOUR }
  const perAddress = { name: `sign-in-address:${hashed(from)}`, count: 100, windowSeconds: QUARTER_HOUR }
  const perAccount = { name: `sign-in-account:${hashed(account)}`, count: 200, windowSeconds: QUARTER_HOUR }
  return knownBrowser ? [perPair, perAddress] : [perPair, perAddress, perAccount]
}

/** Failed client authentications. Never by client id alone, or anybody could lock a client out. */
export function clientAuthenticationLimits(clientId: string, address: string): readonly Limit[] {
  const from = addressGroup(address)
  return [
    { name: `client:${hashed(`${clientId}\n${from}`)}`, count: 100, windowSeconds: MINUTE },
    { name: `client-address:${hashed(from)}`, count: 100, windowSeconds: MINUTE }
  ]
}

/** Operator keys that are none. An address alone can be braked, for a wrong key says nothing of whose it should be. */
export function operatorAuthenticationLimits(address: string): readonly Limit[] {
  return [{ name: `operator-address:${hashed(addressGroup(address))}`, count: 100, windowSeconds: MINUTE }]
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
