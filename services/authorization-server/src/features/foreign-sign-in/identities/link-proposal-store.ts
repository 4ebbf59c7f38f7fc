import type { SessionWay } from '../../../storage/postgres/sessions.js'
import { createLatestKeeper } from '../../../storage/redis/keep-latest.js'
import type { RecordAuthentication } from '../../../storage/redis/record-authentication.js'
import { type Redis, reached } from '../../../storage/redis/redis.js'
import type { IdentityKey } from './identity-store.js'
import type { SignInPurpose } from './sign-in-attempt-store.js'

/** An authenticated identity that waits for the user to confirm that it is linked to the account. */
export type LinkProposal = {
  identity: IdentityKey
  purpose: Extract<SignInPurpose, { kind: 'link' | 'invitation' }>
  /** The account. */
  userId: string
  /** Hash of the id of the browser that was authenticated. */
  browserHash: string
  /** Name of the provider or login page. */
  label: string
  displayName: string | undefined
  way: SessionWay
  /** Milliseconds since 1970, as all times here. */
  proposedAt: number
  authenticatedAt: number | undefined
  maxSeconds: number | undefined
}

const KEPT_SECONDS = 600

/** The limit of each account. A new proposal removes the oldest. */
const MOST_PROPOSALS = 10

/** Proposals in Redis, under the hash of their id, with a MAC. Only the address of the confirmation page contains the id. */
export function createLinkProposalStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_PROPOSALS, KEPT_SECONDS)
  return {
    async add(idHash: string, proposal: LinkProposal): Promise<void> {
      const protectedRecord = records.protect(key(idHash), JSON.stringify(proposal))
      await reached(redis.set(key(idHash), protectedRecord, 'EX', KEPT_SECONDS))
      const dropped = await keepLatest(`vk:proposals:${proposal.userId}`, idHash)
      await Promise.all(dropped.map((oldest) => reached(redis.del(key(oldest)))))
    },

    /** @returns undefined if it is unknown, expired, or was written without our keys */
    async find(idHash: string): Promise<LinkProposal | undefined> {
      const stored = await reached(redis.get(key(idHash)))
      const content = stored === null ? undefined : records.open(key(idHash), stored)
      return content === undefined ? undefined : (JSON.parse(content) as LinkProposal)
    },

    async remove(idHash: string): Promise<void> {
      await reached(redis.del(key(idHash)))
    }
  }
}

export type LinkProposalStore = ReturnType<typeof createLinkProposalStore>

const key = (idHash: string): string => `vk:proposal:${idHash}`
