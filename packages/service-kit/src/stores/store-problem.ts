/** Why a store, or another dependency, does not do what is asked of it. */
export type StoreProblem = {
  /** For the log and `/readyz`: fixed words, never an address or a part of a URL. */
  reason: string
  /** What an operator does about it, where that is known. */
  remedy?: string
  /** Whether it lasts until an operator changes a setting. Such a process is not ready, whatever it could do before. */
  isSetting?: boolean
}

/** The codes of TLS in Node, and the one of a peer that does not speak it. */
const TLS = /^(ERR_TLS|ERR_SSL|EPROTO|CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/
const CODE = /^[A-Z][A-Z0-9_]{1,40}$/
const TIMEOUT = /time(d )?-?out|timeout/i

/** For a failure that is no answer of the store: the network, TLS, or silence. */
export function problemOfConnection(error: unknown): StoreProblem {
  const { code, message = '' } = Object(error) as { code?: unknown; message?: string }
  const known = typeof code === 'string' && CODE.test(code) ? code : undefined
  if (known !== undefined && TLS.test(known)) {
    const remedy = 'compare the URL with what the server offers: TLS or none, its certificate, its name'
    return { reason: `TLS fails (${known})`, remedy, isSetting: true }
  }
  if (TIMEOUT.test(message)) return { reason: 'does not answer in time' }
  return { reason: known === undefined ? 'cannot be reached' : `cannot be reached (${known})` }
}
