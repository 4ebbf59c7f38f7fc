import { hash } from 'node:crypto'
import { createLatestKeeper } from '../../../storage/redis/keep-latest.js'
import type { RecordAuthentication } from '../../../storage/redis/record-authentication.js'
import { defineScript, type Redis, reached } from '../../../storage/redis/redis.js'

/** What an identity is wanted for. */
export type SignInPurpose =
  /** The page of the account to which the browser returns after a sign-in without an authorization request. */
  | { kind: 'sign_in'; page?: string | undefined }
  /** The user signs in again before a change of the account. */
  | { kind: 'confirm'; page: string }
  /** The signed-in user links the identity to the account. */
  | { kind: 'link'; userId: string; sessionHash: string }
  /** The user of an invitation links the identity. */
  | { kind: 'invitation'; tokenHash: string }

/** A browser that was sent to an OpenID provider or a login page. */
export type ForeignSignIn = {
  /** Id of the provider, or `handoff`. */
  way: string
  /** The client's query; empty without an authorization request. */
  query: string
  purpose: SignInPurpose
  /** OpenID Connect Core 1.0 §3.1.2.1. Unused for a login page, whose nonce is the id of the attempt. */
  nonce: string
  /** PKCE (RFC 7636 §4.1). */
  verifier: string
  /** Milliseconds since 1970. */
  startedAt: number
}

type AttemptOwner = { stateHash: string; browserHash: string }

export type TakenAttempt = { kind: 'taken' | 'used'; attempt: ForeignSignIn } | { kind: 'other_browser' }

/**
 * This is longer than `ForeignSignIn` is accepted, so that a browser that returns late still finds its authorization request.
 */
const KEPT_SECONDS = 3600

/** The limit of each group of addresses. A new attempt removes the oldest. */
const MOST_ATTEMPTS = 1_000

/**
 * Sign-ins that have left for an OpenID provider or a login page, in Redis under the hash of `state`. They are small, end by
 * themselves and are limited for each group of addresses, because they belong to browsers in which no user is signed in.
 */
export function createSignInAttemptStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_ATTEMPTS, KEPT_SECONDS)
  const takeAttempt = defineScript(redis, 'valetkeyTakeAttempt', TAKE, 2)

  return {
    /**
     * @param owner.stateHash hash of a random id that only the address contains
     * @param owner.browserHash hash of the browser's id: the response counts only in the browser that began
     */
    async add({ stateHash, browserHash }: AttemptOwner, attempt: ForeignSignIn, addressGroup: string): Promise<void> {
      const { pending } = keys(stateHash)
      const protectedRecord = records.protect(pending, `${browserHash} ${JSON.stringify(attempt)}`)
      await reached(redis.set(pending, protectedRecord, 'EX', KEPT_SECONDS))
      const dropped = await keepLatest(listKey(addressGroup), stateHash)
      // The used ones are dropped as well: a response with an error uses an attempt up without any credential.
      await Promise.all(dropped.map((oldest) => reached(redis.del(...Object.values(keys(oldest))))))
    },

    /**
     * Takes the attempt of this browser, once. A second call gets the same content as `used`, so that a reloaded page can go on.
     * Another browser takes nothing.
     * @returns undefined if it is unknown, or was written without our keys
     */
    async take({ stateHash, browserHash }: AttemptOwner): Promise<TakenAttempt | undefined> {
      const { pending, used } = keys(stateHash)
      const [kind, stored] = (await takeAttempt(pending, used, browserHash)) as [TakenAttempt['kind'], string]
      if (kind === 'other_browser') return { kind }
      const content = stored === '' ? undefined : records.open(pending, stored)
      if (content === undefined) return undefined
      return { kind, attempt: JSON.parse(content.slice(browserHash.length + 1)) as ForeignSignIn }
    }
  }
}

export type SignInAttemptStore = ReturnType<typeof createSignInAttemptStore>

/** The key lacks the address itself, like the counters of failures. */
const listKey = (addressGroup: string): string => `vk:attempt-list:${hash('sha256', addressGroup, 'base64url')}`

function keys(stateHash: string): { pending: string; used: string } {
  // The braces keep both keys on one node of a Redis cluster.
  return { pending: `vk:attempt:{${stateHash}}`, used: `vk:attempt-used:{${stateHash}}` }
}

// The record is 43 characters of MAC, a space, the hash of the browser, a space and JSON. It keeps its remaining time.
const TAKE = `
local stored = redis.call('GET', KEYS[1])
local kind = 'taken'
if not stored then
  stored = redis.call('GET', KEYS[2])
  kind = 'used'
end
if not stored then return { 'used', '' } end
if string.find(stored, ' ' .. ARGV[1] .. ' ', 44, true) ~= 44 then return { 'other_browser', '' } end
if kind == 'taken' then redis.call('RENAME', KEYS[1], KEYS[2]) end
return { kind, stored }
`
