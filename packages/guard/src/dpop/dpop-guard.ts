import type { BoundRequest, ProofChecker, ProofOutcome } from './check-proof.js'
import type { DpopSettings } from './dpop-options.js'
import type { ReplayStatistics } from './replay-set.js'

/** What a guard needs to accept tokens that are bound to a key. */
export type DpopGuard = {
  mode: DpopSettings['mode']
  /**
   * Checks the proof of a request, once: a later check of the same request has the same outcome.
   * @param rawHeaders of the request; the same list means the same request
   * @throws if the code that verifies signatures cannot be loaded
   */
  prove(rawHeaders: readonly string[], request: BoundRequest): Promise<ProofOutcome>
  statistics(): ReplayStatistics | undefined
}

type Checked = { accessToken: string; proof: string | undefined; outcome: Promise<ProofOutcome> }

export function createDpopGuard(settings: DpopSettings): DpopGuard {
  // The library needs 50 ms of processor time and 4 MB, which guards of bearer tokens must not pay for.
  const loading = import('./check-proof.js').then(({ createProofChecker }) => createProofChecker(settings))
  let checker: ProofChecker | undefined
  loading.then(
    (loaded) => {
      checker = loaded
    },
    // The requests report it.
    () => {}
  )
  const checked = new WeakMap<readonly string[], Checked>()
  return {
    mode: settings.mode,
    prove(rawHeaders, request) {
      const { accessToken, proofs } = request
      // Two guards on one route, or a WebSocket whose token is checked again later.
      const former = checked.get(rawHeaders)
      if (former?.accessToken === accessToken && former.proof === proofs[0]) return former.outcome
      const outcome = checker?.check(request) ?? loading.then((loaded) => loaded.check(request))
      checked.set(rawHeaders, { accessToken, proof: proofs[0], outcome })
      return outcome
    },
    statistics: () => checker?.statistics()
  }
}
