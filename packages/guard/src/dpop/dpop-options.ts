/** Remembers which proofs were used, for several processes. */
export type ReplayStore = {
  /**
   * Whether this is the first use of the key within its time. It must be one atomic step, such as `SET key 1 NX PX ttlMs`.
   * @param key 43 characters, base64url
   * @param ttlMs how long the store must remember the key, in milliseconds
   */
  firstUse(key: string, ttlMs: number): boolean | Promise<boolean>
}

export type DpopOptions = {
  /** `allowed`: also bearer tokens, if they are not bound to a key. `required`: only bound tokens. Default `allowed`. */
  mode?: 'allowed' | 'required'
  /** How old a proof may be, and how far ahead the client's clock. 1 to 3,600; default 300. */
  toleranceSeconds?: number
  /** Scheme, host and port of the URLs that clients call. Default: those of `resource`. */
  publicOrigin?: string
  /** What a proxy removes from the start of the path, such as `/api`. Default: nothing. */
  pathPrefix?: string
  /** Shared by all processes of the API. Default: each process remembers in its own memory what it has seen. */
  replayStore?: ReplayStore
  /**
   * Secrets of at least 32 characters, the same for all processes of the API. With them, each proof must have a nonce that this API gave
   * less than four minutes ago; `toleranceSeconds` has no effect then. The first one makes nonces, all of them verify.
   */
  nonceKeys?: readonly string[]
}

/** The options with their defaults. */
export type DpopSettings = {
  mode: 'allowed' | 'required'
  toleranceSeconds: number
  /** What comes before the path of a request in the target URI that a proof must have. */
  base: string
  replayStore: ReplayStore | undefined
  /** Undefined: proofs need no nonce. @property server whose nonces they are */
  nonces: { keys: readonly string[]; server: string } | undefined
}

const MODES: readonly unknown[] = ['allowed', 'required']
const MOST_SECONDS = 3_600
const LEAST_KEY_LENGTH = 32

/** @throws {TypeError} that names the first wrong option */
export function readDpopOptions(options: DpopOptions, resource: string): DpopSettings {
  const { mode = 'allowed', toleranceSeconds = 300, publicOrigin, pathPrefix = '', replayStore } = options
  if (!MODES.includes(mode)) throw new TypeError('dpop.mode must be allowed or required')
  const isInRange = Number.isInteger(toleranceSeconds) && toleranceSeconds >= 1 && toleranceSeconds <= MOST_SECONDS
  if (!isInRange) throw new TypeError(`dpop.toleranceSeconds must be a whole number from 1 to ${MOST_SECONDS}`)
  if (publicOrigin !== undefined && !isOrigin(publicOrigin))
    throw new TypeError(
      'dpop.publicOrigin must be an http or https URL without a path, such as https://api.example.com'
    )
  if (pathPrefix !== '' && !/^(?:\/[^/?#\\\s]+)+$/.test(pathPrefix))
    throw new TypeError('dpop.pathPrefix must begin with a slash and not end with one, such as /api')
  if (replayStore !== undefined && typeof replayStore?.firstUse !== 'function')
    throw new TypeError('dpop.replayStore must have the function firstUse')
  const base = new URL(publicOrigin ?? resource).origin + pathPrefix
  return { mode, toleranceSeconds, base, replayStore, nonces: readNonceKeys(options, resource) }
}

/** An empty list is a mistake, because it would require no nonces. */
function readNonceKeys({ nonceKeys }: DpopOptions, resource: string): DpopSettings['nonces'] {
  if (nonceKeys === undefined) return undefined
  const isKey = (key: unknown) => typeof key === 'string' && key.length >= LEAST_KEY_LENGTH
  if (!Array.isArray(nonceKeys) || nonceKeys.length === 0 || !nonceKeys.every(isKey))
    throw new TypeError(`dpop.nonceKeys must be a list of secrets of at least ${LEAST_KEY_LENGTH} characters`)
  return { keys: nonceKeys, server: resource }
}

function isOrigin(text: string): boolean {
  if (typeof text !== 'string' || !/^https?:/i.test(text) || !URL.canParse(text)) return false
  const { href, origin } = new URL(text)
  return href === `${origin}/`
}
