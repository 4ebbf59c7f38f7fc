/** Why a store or another dependency is unavailable. */
export type StoreProblem = {
  /** The reason for the log and `/readyz`: fixed words, never an address or a part of a URL. */
  reason: string
  /** What an operator can do, if known. */
  remedy?: string
  /** Whether an operator must change a setting. Until then the process is not ready, even if it was before. */
  isSetting?: boolean
}

/** Node's error codes of TLS, including those for a peer without TLS. */
const TLS = /^(ERR_TLS|ERR_SSL|EPROTO|CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/
const CODE = /^[A-Z][A-Z0-9_]{1,40}$/
const TIMEOUT = /time(d )?-?out|timeout/i

/** Returns the problem of an error that does not come from the store itself: the network, TLS, or a time-out. */
export function problemOfConnection(error: unknown): StoreProblem {
  const { code, message = '' } = Object(error) as { code?: unknown; message?: string }
  const known = typeof code === 'string' && CODE.test(code) ? code : undefined
  if (known !== undefined && TLS.test(known)) {
    const remedy = 'compare the URL with what the server offers: TLS or none, its certificate, its name'
    return { reason: `TLS fails (${known})`, remedy, isSetting: true }
  }
  if (TIMEOUT.test(message)) return { reason: 'does not respond in time' }
  return { reason: known === undefined ? 'cannot be reached' : `cannot be reached (${known})` }
}
