/** A flow that was started and has no response yet. */
export type PendingFlow = Readonly<{ codeVerifier: string; startedAt: number }>

const MOST_AT_ONCE = 10
const LIFETIME_MS = 15 * 60_000

/** Keyed by state, so that two tabs of one browser are two flows, each with its own verifier. */
export function rememberFlow(flows: Map<string, PendingFlow>, state: string, flow: PendingFlow): void {
  for (const oldest of flows.keys()) {
    if (flows.size < MOST_AT_ONCE) break
    flows.delete(oldest)
  }
  flows.set(state, flow)
}

/** Removes the flow: a state is valid for one response (RFC 9700 §4.7.1). */
export function takeFlow(flows: Map<string, PendingFlow>, state: string, now: number): PendingFlow | undefined {
  const flow = flows.get(state)
  flows.delete(state)
  return flow !== undefined && now - flow.startedAt < LIFETIME_MS ? flow : undefined
}
