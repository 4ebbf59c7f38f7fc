import type { PublicKey } from './public-key.js'

/** Keys that have signed before. The import of an EC key takes as long as the verification of its signature. */
export type KnownKeys = {
  /** The remembered object of an equal key, which is imported already, or the key itself. */
  known(key: PublicKey): PublicKey
  /** Remembers a key that has signed. Keys of invalid signatures are not remembered, so that a stranger fills nothing. */
  remember(key: PublicKey): void
}

const MOST_KEYS = 1_000

/** Remembers the keys that were used last. @param most how many */
export function rememberKeys(most = MOST_KEYS): KnownKeys {
  // A Map keeps the order of insertion: the first key is the one that was not used for the longest time.
  const byThumbprint = new Map<string, PublicKey>()
  return {
    known: (key) => byThumbprint.get(key.thumbprint) ?? key,
    remember(key) {
      const known = byThumbprint.get(key.thumbprint) ?? key
      byThumbprint.delete(key.thumbprint)
      byThumbprint.set(key.thumbprint, known)
      const [oldest] = byThumbprint.keys()
      if (byThumbprint.size > most && oldest !== undefined) byThumbprint.delete(oldest)
    }
  }
}
