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

/**
 * Failed client authentications. By address alone, and so for each client id at an address as well: a counter for each made-up
 * client id would be memory that strangers fill. Never by client id alone, or anybody could lock a client out.
 */
export function clientAuthenticationLimit(address: string): Limit {
  return perMinute(`client-address:${hashed(addressGroup(address))}`)
}

/** Failed authentications of resource servers, by address as those of clients. */
export function resourceServerAuthenticationLimit(address: string): Limit {
  return perMinute(`resource-server-address:${hashed(addressGroup(address))}`)
}

/** Operator keys that are none. A wrong key says nothing of whose it should be. */
export function operatorAuthenticationLimit(address: string): Limit {
  return perMinute(`operator-address:${hashed(addressGroup(address))}`)
}

function perMinute(name: string): Limit {
  return { name, count: 100, windowSeconds: MINUTE }
}

function hashed(text: string): string {
  // 128 bits are enough to tell names apart, and keep what strangers can make Redis store small.
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')
}
