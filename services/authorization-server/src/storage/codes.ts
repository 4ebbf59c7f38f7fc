import { randomUUID } from 'node:crypto'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import {
  type CodeBinding,
  type CodePresentation,
  issuedRecord,
  presentedStart,
  sealedAnswerOf,
  type TakeOutcome,
  tombstoneOf,
  toOutcome
} from './code-record.js'
import { defineScript, type Redis, reached } from './redis.js'

export type { CodeBinding, CodeMismatch, CodePresentation, TakeOutcome } from './code-record.js'

const TOMBSTONE_MS = 60_000

/** Authorization codes in Redis: one key a code, what it is bound to, and nothing a thief could use. */
export function createCodeStore(redis: Redis, now: () => Date) {
  const takeCode = defineScript(redis, 'valetkeyTakeCode', TAKE, 1)
  const putCodeBack = defineScript(redis, 'valetkeyPutCodeBack', PUT_BACK, 1)

  return {
    /** @param sealedAnswer the redirect that brings the code, for a form that is sent twice; gone with the code */
    async put(
      digest: TokenDigest,
      record: { grantId: string; binding: CodeBinding; sealedAnswer: Buffer | undefined },
      lifetimeMs: number
    ): Promise<void> {
      await reached(redis.set(key(digest), issuedRecord(record, lifetimeMs, now()), 'PX', lifetimeMs))
    },

    /** The sealed redirect, as long as the code is unredeemed and alive. */
    async findSealedAnswer(digest: TokenDigest): Promise<Buffer | undefined> {
      const record = await reached(redis.get(key(digest)))
      return record === null ? undefined : sealedAnswerOf(record)
    },

    /** Compares and takes in one script, so two racing requests cannot both win, and a wrong one takes nothing. */
    async take(digest: TokenDigest, presented: CodePresentation): Promise<TakeOutcome> {
      // When a connection breaks, ioredis sends the script again: by its name an attempt that was carried out already is
      // known from a replay, which would end the grant.
      const attempt = randomUUID()
      const tombstone = `${tombstoneOf(attempt)}${now().getTime()} `
      try {
        const record = await takeCode(key(digest), presentedStart(presented), tombstone, TOMBSTONE_MS)
        return typeof record === 'string' ? toOutcome(record, attempt, presented) : { kind: 'unknown' }
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
    await putCodeBack(key(digest), tombstoneOf(attempt), TOMBSTONE_MS)
  }
}

export type CodeStore = ReturnType<typeof createCodeStore>

// Not the name that a former release has hashes under: neither may stumble over what the other has written.
const key = (digest: TokenDigest): string => `vk:authorization-code:${digest.toString('hex')}`

// A request takes the code if the record starts with what it presents, so only one string is to be compared. GET and SET
// are all the commands there are: Redis works for each command of a script as for one that is sent.
const TAKE = `
local record = redis.call('GET', KEYS[1])
if record and string.sub(record, 1, #ARGV[1]) == ARGV[1] then
  record = ARGV[2] .. string.match(record, '^issued (.* )')
  redis.call('SET', KEYS[1], record, 'PX', ARGV[3])
end
return record
`

// The age of the tombstone is told by what it has left to live itself. Where nothing is left of the code the tombstone goes all the
// same, or a code that brought no tokens would be taken for one that was used; if it was, the grant row says so.
const PUT_BACK = `
local record = redis.call('GET', KEYS[1])
if not record or string.sub(record, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
local takenAt, code, lifetime, issuedAt = string.match(record, '^taken [^ ]* (%d+) (.* (%d+) (%d+) )$')
local age = tonumber(ARGV[2]) - redis.call('PTTL', KEYS[1])
local remaining = tonumber(lifetime) - math.max(0, tonumber(takenAt) - tonumber(issuedAt)) - age
if remaining <= 0 then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], 'issued ' .. code, 'PX', string.format('%d', remaining))
return 1
`
