import type { evaluateFlows } from './load/flows.mjs'
import type { Answered, Comparison, Ending } from './load/token-ledger.mjs'
import type { World } from './start-world.mjs'
import type { PostgresReplicas } from './stores/postgres-replicas.mjs'

export type ReplicatedWorld = World<{ url: string }, PostgresReplicas>
export function startReplicatedWorld(): Promise<ReplicatedWorld>

type Flows = ReturnType<typeof evaluateFlows>

/** Times are milliseconds since 1970. */
export function prepareFailovers(world: ReplicatedWorld): Promise<
  (options: {
    /** Whether each commit waits for the standby. If not, the standby receives nothing in the last time before the failover. */
    isSynchronous: boolean
    /** Waits until the primary may be killed. */
    untilKilled?: (ledger: unknown, isolatedAt: number) => Promise<void>
    /** Time between the end of the primary and the promotion. */
    detectionMs?: number
    /** The connections to the primary stay open without an answer, as after a loss of power. */
    staysSilent?: boolean
  }) => Promise<
    Comparison & {
      /** All access tokens of flows. */
      answered: readonly Answered[]
      endings: readonly Ending[]
      /** Requests of flows until `replicatedUntil`, and later ones. */
      before: Flows
      after: Flows
      /** The standby has all that was answered before. */
      replicatedUntil: number
      /** If asynchronous, the standby receives nothing from then on. */
      isolatedAt: number
      killedAt: number
      promotedAt: number
      recoveryMs: number
    }
  >
>
