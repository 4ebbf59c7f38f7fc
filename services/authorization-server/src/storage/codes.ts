import { randomUUID } from 'node:crypto'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import { defineScript, type Redis, reached } from './redis.js'

/** What a code is bound to. All of it must match before the code is taken out. */
export type CodeBinding = {
  clientId: string
  redirectUri: string
  /** S256 challenge; undefined when the request had none. */
  codeChallenge: string | undefined
  audience: string
}

/** What a token request presents. Without `resource` any audience fits (RFC 8707 §2.2). */
export type CodePresentation = Omit<CodeBinding, 'audience'> & { resource: string | undefined }

export type CodeMismatch = 'client' | 'redirect_uri' | 'code_challenge' | 'resource'

export type TakeOutcome =
  /** `attempt` names this taking, for `putBack`. */
  | { kind: 'taken'; grantId: string; attempt: string }
  /** It was taken before. `mismatch` tells whether this request is right in everything else. */
  | { kind: 'spent'; grantId: string; mismatch: CodeMismatch | undefined }
  | { kind: 'bound_elsewhere'; mismatch: CodeMismatch }
  | { kind: 'unknown' }

const TOMBSTONE_MS = 60_000

/** Authorization codes in Redis: a hash of the code, what it is bound to, and nothing a thief could use. */
export function createCodeStore(redis: Redis) {
  const putCode = defineScript(redis, 'valetkeyPutCode', PUT, 1)
  const takeCode = defineScript(redis, 'valetkeyTakeCode', TAKE, 2)
  const putCodeBack = defineScript(redis, 'valetkeyPutCodeBack', PUT_BACK, 2)

  return {
    /** @param sealedAnswer the redirect that brings the code, for a form that is sent twice; gone with the code */
    async put(
      digest: TokenDigest,
      record: { grantId: string; binding: CodeBinding; sealedAnswer: Buffer | undefined },
      lifetimeMs: number
    ): Promise<void> {
      const { grantId, sealedAnswer } = record
      const { clientId, redirectUri, codeChallenge, audience } = record.binding
      const answer = sealedAnswer?.toString('base64') ?? ''
      await putCode(
        keys(digest).code,
        grantId,
        clientId,
        redirectUri,
        codeChallenge ?? '',
        audience,
        answer,
        lifetimeMs
      )
    },

    /** The sealed redirect, as long as the code is unredeemed and alive. */
    async findSealedAnswer(digest: TokenDigest): Promise<Buffer | undefined> {
      const stored = await reached(redis.hget(keys(digest).code, 'answer'))
      return stored ? Buffer.from(stored, 'base64') : undefined
    },

    /** Compares and takes in one script, so two racing requests cannot both win, and a wrong one takes nothing. */
    async take(digest: TokenDigest, presented: CodePresentation): Promise<TakeOutcome> {
      const { code, tombstone } = keys(digest)
      const { clientId, redirectUri, codeChallenge, resource } = presented
      // When a connection breaks, ioredis sends the script again: by its name an attempt that was carried out already is
      // known from a replay, which would end the grant.
      const attempt = randomUUID()
      const values = [clientId, redirectUri, codeChallenge ?? '', resource ?? '', attempt, TOMBSTONE_MS]
      try {
        return toOutcome(await takeCode(code, tombstone, ...values), attempt)
      } catch (error) {
        // It may have been carried out, or still be. If this one gets through it comes after it; nobody waits for it.
        undoTake(digest, attempt).catch(() => {})
        throw error
      }
    },

    /**
     * Undoes a `take` whose tokens could not be stored: the code has back what is left of its life, and the tombstone
     * goes in the same step.
     */
    putBack: undoTake
  }

  async function undoTake(digest: TokenDigest, attempt: string): Promise<void> {
    const { code, tombstone } = keys(digest)
    await putCodeBack(tombstone, code, attempt, TOMBSTONE_MS)
  }
}

export type CodeStore = ReturnType<typeof createCodeStore>

function keys(digest: TokenDigest): { code: string; tombstone: string } {
  // The braces keep both keys on one node of a Redis cluster.
  const name = `{${digest.toString('hex')}}`
  return { code: `vk:code:${name}`, tombstone: `vk:code-spent:${name}` }
}

const PUT = `
redis.call('HSET', KEYS[1], 'grant_id', ARGV[1], 'client_id', ARGV[2], 'redirect_uri', ARGV[3],
  'code_challenge', ARGV[4], 'audience', ARGV[5], 'answer', ARGV[6])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 1
`

const TAKE = `
local state = 'spent'
local key = KEYS[2]
if redis.call('EXISTS', KEYS[1]) == 1 then
  state = 'issued'
  key = KEYS[1]
elseif redis.call('EXISTS', KEYS[2]) == 0 then
  return {'unknown'}
end
local record = redis.call('HMGET', key, 'grant_id', 'client_id', 'redirect_uri', 'code_challenge', 'audience')
local mismatch = ''
if record[2] ~= ARGV[1] then mismatch = 'client'
elseif record[3] ~= ARGV[2] then mismatch = 'redirect_uri'
elseif record[4] ~= ARGV[3] then mismatch = 'code_challenge'
elseif ARGV[4] ~= '' and record[5] ~= ARGV[4] then mismatch = 'resource'
end
if state == 'spent' then
  if redis.call('HGET', KEYS[2], 'attempt') == ARGV[5] then return {'taken', record[1]} end
  return {'spent', record[1], mismatch}
end
if mismatch ~= '' then return {'bound_elsewhere', record[1], mismatch} end
local remaining = redis.call('PTTL', KEYS[1])
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('HDEL', KEYS[2], 'answer')
redis.call('HSET', KEYS[2], 'attempt', ARGV[5], 'remaining', tostring(remaining))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return {'taken', record[1]}
`

// The age of the tombstone is told by what it has left to live itself.
const PUT_BACK = `
if redis.call('HGET', KEYS[1], 'attempt') ~= ARGV[1] then return 0 end
local age = tonumber(ARGV[2]) - redis.call('PTTL', KEYS[1])
local remaining = tonumber(redis.call('HGET', KEYS[1], 'remaining')) - age
if remaining <= 0 then return 0 end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[2], string.format('%d', remaining))
return 1
`

function toOutcome(reply: unknown, attempt: string): TakeOutcome {
  const [kind, grantId = '', mismatch = ''] = reply as [TakeOutcome['kind'], string?, (CodeMismatch | '')?]
  switch (kind) {
    case 'taken':
      return { kind, grantId, attempt }
    case 'spent':
      return { kind, grantId, mismatch: mismatch === '' ? undefined : mismatch }
    case 'bound_elsewhere':
      return { kind, mismatch: mismatch as CodeMismatch }
    case 'unknown':
      return { kind }
  }
}
