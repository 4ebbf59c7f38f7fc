import { type Redis, reached } from '../../storage/redis/redis.js'

/** This is longer than a challenge is accepted. */
const KEPT_SECONDS = 600

/** Challenges of passkeys that were answered. Only a valid answer is stored, so a client without a passkey stores nothing. */
export function createUsedChallengeStore(redis: Redis) {
  return {
    /** @returns false if the challenge was used before */
    async use(challengeHash: string): Promise<boolean> {
      return (await reached(redis.set(`vk:challenge:${challengeHash}`, '', 'EX', KEPT_SECONDS, 'NX'))) === 'OK'
    }
  }
}

export type UsedChallengeStore = ReturnType<typeof createUsedChallengeStore>
