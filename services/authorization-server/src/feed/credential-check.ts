import { timingSafeEqual } from 'node:crypto'
import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import { answerWithin } from './answer-within.js'
import type { EventStream } from './event-stream.js'

/** The credential that opened a stream; the hash is that of the secret that was presented. */
export type Credential = { clientId: string; audience: string; secretHash: Buffer }

export type Subscriber = { stream: EventStream; credential: Credential }

export type CredentialCheckDeps = {
  list: ResourceServerStore['list']
  subscribers: ReadonlyMap<string, Subscriber>
  end(id: string): void
}

const ANSWER_LIMIT_MS = 1_000

/**
 * @returns reads the credentials from Postgres and ends each stream whose credential is gone, has another secret, or is now
 *   of another audience. Where Postgres does not answer, every stream ends: each guard connects again, and proves itself.
 */
export function createCredentialCheck({ list, subscribers, end }: CredentialCheckDeps): () => Promise<void> {
  let isChecking = false
  let isDue = false
  return async () => {
    isDue = true
    // The check that runs may have read before the change: it is followed by another one.
    if (isChecking) return
    isChecking = true
    while (isDue) {
      isDue = false
      // Not those that open meanwhile, for their credentials may be newer than what is read.
      const open = [...subscribers]
      if (open.length === 0) continue
      const registered = await answerWithin(ANSWER_LIMIT_MS, list)
      for (const [id, { credential }] of open) {
        if (registered === undefined || !isRegistered(credential, registered)) end(id)
      }
    }
    isChecking = false
  }
}

function isRegistered(
  { clientId, audience, secretHash }: Credential,
  registered: Awaited<ReturnType<ResourceServerStore['list']>>
): boolean {
  const found = registered.find(({ resourceServer }) => resourceServer.clientId === clientId)
  if (found === undefined || found.resourceServer.audience !== audience) return false
  return found.secretHash.length === secretHash.length && timingSafeEqual(found.secretHash, secretHash)
}
