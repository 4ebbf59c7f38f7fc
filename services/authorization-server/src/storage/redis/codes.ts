import type { PresentedBinding, TokenHash } from '@valetkey/oauth-protocol'
import { comparablePresented } from '@valetkey/oauth-protocol'
import {
  type AllowedGrant,
  COMPARABLE,
  type CodeContent,
  codeBody,
  ISSUED,
  type TakeOutcome,
  toTakeOutcome
} from './code-record.js'
import type { RecordAuthentication } from './record-authentication.js'
import { defineScript, type Redis, reached } from './redis.js'

export type { AllowedGrant, AuthorizationDetail, CodeContent, TakeOutcome } from './code-record.js'

/** Lifetime of the tombstone of a used code; afterwards the row of its grant shows the use. */
const USED_MS = 60_000
/** This is longer than an exchange is in progress. Afterwards a used code stays used, even if Postgres has lost its grant. */
const UNDECIDED_MS = 3_000
/**
 * An expired code is kept for this time, so that the log can say `expired_code` instead of `unknown_code`. Not longer, because a
 * signed-in user can cause codes to be issued in a loop, which must not fill Redis.
 */
const EXPIRED_MS = 60_000

/** Authorization codes in Redis, one key per code with its hash. ADR 0002 describes the record and the scripts. */
export function createCodeStore(redis: Redis, records: RecordAuthentication) {
  const takeCode = defineScript(redis, 'valetkeyTakeCode', TAKE, 1)
  const returnCode = defineScript(redis, 'valetkeyReturnCode', RETURN, 1)

  function take(
    hash: TokenHash,
    attempt: string,
    presented: PresentedBinding,
    takesUsedMs: number
  ): Promise<TakeOutcome> {
    const key = keyOf(hash)
    const { hash: bound, keyHash, resource } = comparablePresented(presented)
    return takeCode(key, bound, resource, attempt, USED_MS, EXPIRED_MS, takesUsedMs, keyHash).then(
      (record) =>
        typeof record === 'string'
          ? toTakeOutcome(record, { key, attempt, presented }, records)
          : ({ kind: 'unknown' } as const),
      (error: unknown) => {
        // The script may have run, or may run later. Undo it in the background.
        returnTaken(hash, attempt).catch(() => {})
        throw error
      }
    )
  }

  async function returnTaken(hash: TokenHash, attempt: string, content?: CodeContent): Promise<boolean> {
    const body = content === undefined ? '' : codeBody(keyOf(hash), content, records)
    return (await returnCode(keyOf(hash), attempt, body, USED_MS, EXPIRED_MS)) === 1
  }

  return {
    /**
     * @param record.encryptedRedirect the redirect with the code, for a form that is sent twice; deleted when the code is
     *   taken. Undefined if there was no form.
     */
    put(
      hash: TokenHash,
      record: { allowed: AllowedGrant; encryptedRedirect: Buffer | undefined },
      lifetimeMs: number
    ): Promise<unknown> {
      const body = codeBody(keyOf(hash), { allowed: record.allowed, undelivered: [] }, records)
      const redirect = record.encryptedRedirect === undefined ? '' : `\n${record.encryptedRedirect.toString('base64')}`
      return reached(redis.set(keyOf(hash), `${ISSUED}${body}${redirect}`, 'PX', lifetimeMs + EXPIRED_MS))
    },

    /** The encrypted redirect, as long as the code can be taken. */
    async findEncryptedRedirect(hash: TokenHash): Promise<Buffer | undefined> {
      const [record, remainingMs] = await Promise.all([
        reached(redis.get(keyOf(hash))),
        reached(redis.pttl(keyOf(hash)))
      ])
      const [, redirect] = record?.startsWith(ISSUED) && remainingMs > EXPIRED_MS ? record.split('\n') : []
      return redirect === undefined ? undefined : Buffer.from(redirect, 'base64')
    },

    /**
     * Compares and takes in one script: of two concurrent requests one takes the code, and a request with another binding leaves
     * it unchanged.
     * @param attempt identifies this exchange: the id of its future grant
     */
    take: (hash: TokenHash, attempt: string, presented: PresentedBinding): Promise<TakeOutcome> =>
      take(hash, attempt, presented, 0),

    /**
     * Takes also a code whose other exchange may still be in progress: Postgres decides which of the two gets tokens. The
     * other can return the code no more.
     * @returns `used` if the other exchange has ended, or the lifetime of the code is over
     */
    takeOver: (hash: TokenHash, attempt: string, presented: PresentedBinding): Promise<TakeOutcome> =>
      take(hash, attempt, presented, UNDECIDED_MS),

    /**
     * Undoes a `take` whose exchange failed: the code is valid for the rest of its lifetime.
     * @param content new content, which names exchanges that may have been committed, for the next exchange. Undefined if the
     *   outcome of `take` is unknown: the content does not change
     * @returns false if this exchange has not taken the code, or has returned it before
     */
    giveBack: returnTaken
  }
}

export type CodeStore = ReturnType<typeof createCodeStore>

const keyOf = (hash: TokenHash): string => `vk:code:${hash.toString('hex')}`

// Arguments: hash and resource of the presented binding, the attempt, USED_MS, EXPIRED_MS, the age in milliseconds up to which a
// used code is taken, and the hash with the presented key. Redis decides whether the code has expired, so no process clock matters. The driver sends a script again
// when a connection breaks; the attempt shows the second run that the first one took the code.
const TAKE = `
local record = redis.call('GET', KEYS[1])
if not record then return record end
local left, body
if string.sub(record, 1, ${ISSUED.length}) == '${ISSUED}' then
  left = redis.call('PTTL', KEYS[1]) - tonumber(ARGV[5])
  body = string.match(record, '^${ISSUED}([^\\n]*)')
  if left <= 0 then return 'expired ' .. body end
else
  local attempt
  attempt, left, body = string.match(record, '^taken (%S+) (%d+) (.*)$')
  if ARGV[6] == '0' or attempt == ARGV[3] then return record end
  local age = tonumber(ARGV[4]) - redis.call('PTTL', KEYS[1])
  left = tonumber(left) - age
  if left <= 0 or age > tonumber(ARGV[6]) then return record end
end
local hash, resource = string.match(body, '${COMPARABLE}')
if (hash ~= ARGV[1] and hash ~= ARGV[7]) or (ARGV[2] ~= '' and ARGV[2] ~= resource) then return record end
local taken = 'taken ' .. ARGV[3] .. ' ' .. string.format('%d', left) .. ' ' .. body
redis.call('SET', KEYS[1], taken, 'PX', ARGV[4])
return taken
`

// Arguments: the attempt, the new body or an empty string, USED_MS, EXPIRED_MS. The time since `take` is subtracted, so the code
// expires when it would have expired without the exchange.
const RETURN = `
local record = redis.call('GET', KEYS[1])
local start = 'taken ' .. ARGV[1] .. ' '
if not record or string.sub(record, 1, #start) ~= start then return 0 end
local left, body = string.match(string.sub(record, #start + 1), '^(%d+) (.*)$')
if ARGV[2] ~= '' then body = ARGV[2] end
local age = tonumber(ARGV[3]) - redis.call('PTTL', KEYS[1])
local remaining = tonumber(left) - age + tonumber(ARGV[4])
redis.call('SET', KEYS[1], '${ISSUED}' .. body, 'PX', string.format('%d', math.max(1, remaining)))
return 1
`
