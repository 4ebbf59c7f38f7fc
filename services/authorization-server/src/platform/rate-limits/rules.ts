import { createHash } from 'node:crypto'
import type { Client } from '@valetkey/oauth-protocol'
import type { CanonicalName } from '@valetkey/sign-in-rules'
import { addressGroup } from './address-group.js'

/** How many failures or actions the service accepts in `windowSeconds`. The name contains only hashes of addresses and accounts. */
export type Limit = {
  name: string
  count: number
  windowSeconds: number
  /** Undefined: what it counts are failed attempts. */
  reason?: 'too_many_pushed_requests'
}

const QUARTER_HOUR = 900
const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/**
 * Failed sign-ins (docs/contract.md, "Limits"). The limit per account would allow an attacker to lock its user out, so it does
 * not apply to a browser that has signed in to the account before.
 */
export function signInLimits(account: CanonicalName, address: string, knownBrowser: boolean): readonly Limit[] {
  const from = addressGroup(address)
  const perPair = { name: `sign-in:${hashed(`${account}\n${from}`)}`, count: 20, windowSeconds: QUARTER_HOUR }
  const perAddress = signInAddressLimit(address)
  const perAccount = { name: `sign-in-account:${hashed(account)}`, count: 200, windowSeconds: QUARTER_HOUR }
  return knownBrowser ? [perPair, perAddress] : [perPair, perAddress, perAccount]
}

/** Invitations and reset links that are not found, by address. */
export function accountLinkLimit(address: string): Limit {
  return { name: `account-link-address:${hashed(addressGroup(address))}`, count: 100, windowSeconds: QUARTER_HOUR }
}

/** Failed sign-ins by address: the only limit for a passkey, whose account is known only if it is valid. */
export function signInAddressLimit(address: string): Limit {
  return { name: `sign-in-address:${hashed(addressGroup(address))}`, count: 100, windowSeconds: QUARTER_HOUR }
}

/** Codes that a provider refuses, by address: an invented one costs a request there, and the provider may block us for many. */
export function providerAddressLimit(address: string): Limit {
  return { name: `provider-address:${hashed(addressGroup(address))}`, count: 100, windowSeconds: QUARTER_HOUR }
}

/**
 * Failed client authentications, by address. Not by address and client id, because invented client ids would fill Redis with
 * counters. Not by client id, because an attacker could lock a client out.
 */
export function clientAuthenticationLimit(address: string): Limit {
  return perMinute(`client-address:${hashed(addressGroup(address))}`)
}

/** Failed authentications of resource servers, by address like those of clients. */
export function resourceServerAuthenticationLimit(address: string): Limit {
  return perMinute(`resource-server-address:${hashed(addressGroup(address))}`)
}

/** Invalid operator keys, by address. */
export function operatorAuthenticationLimit(address: string): Limit {
  return perMinute(`operator-address:${hashed(addressGroup(address))}`)
}

/** Reports of leaked tokens with a value that is no live token, by address: each value may cost a look-up. */
export function reportedTokenLimit(address: string): Limit {
  return { name: `reported-token-address:${hashed(addressGroup(address))}`, count: 100, windowSeconds: QUARTER_HOUR }
}

/** Valid forms of apps, invitations and new testers, by user: each stores a logo or reaches a person, and has an audit entry. */
export function appFormLimit(userId: string): Limit {
  return { name: `app-form:${hashed(userId)}`, count: 100, windowSeconds: DAY }
}

/** Forms with which a user changes their apps or passkeys. Those that only take something away are not counted. */
export function accountChangeLimit(userId: string): Limit {
  return { name: `account-change:${hashed(userId)}`, count: 60, windowSeconds: HOUR }
}

/** Discovered clients that a user is the first to allow: each is a row that every process keeps in memory. */
export function newClientLimit(userId: string): Limit {
  return { name: `new-client:${hashed(userId)}`, count: 50, windowSeconds: DAY }
}

/**
 * Accepted pushed requests. Any person can push for a public client, so their address is limited; a confidential client is limited
 * itself, because its server pushes the requests of all its users.
 */
export function pushedRequestLimit({ type, clientId }: Pick<Client, 'type' | 'clientId'>, address: string): Limit {
  const reason = 'too_many_pushed_requests'
  return type === 'public'
    ? { name: `push-address:${hashed(addressGroup(address))}`, count: 300, windowSeconds: QUARTER_HOUR, reason }
    : { name: `push-client:${hashed(clientId)}`, count: 1_200, windowSeconds: MINUTE, reason }
}

function perMinute(name: string): Limit {
  return { name, count: 100, windowSeconds: MINUTE }
}

function hashed(text: string): string {
  // 128 bits distinguish names and keep keys of anonymous requests small.
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')
}
