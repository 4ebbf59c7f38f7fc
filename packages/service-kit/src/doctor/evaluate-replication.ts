import { type Finding, ok, warning } from './finding.js'

export type ReplicationState = {
  /** Physical replication slots in use. */
  standbys: number
  synchronous_standby_names: string
  synchronous_commit: string
}

/** The levels of `synchronous_commit` with which no commit waits for a standby. */
const WITHOUT_STANDBY = ['local', 'off']

/** @returns nothing without standbys: how a managed service replicates is not visible here */
export function evaluateReplication(state: ReplicationState): readonly Finding[] {
  const { standbys, synchronous_standby_names: names, synchronous_commit: level } = state
  if (standbys === 0) return []
  const found = `standbys: ${standbys}, synchronous_standby_names: ${names === '' ? 'empty' : names}`
  if (names !== '' && !WITHOUT_STANDBY.includes(level)) return [ok('postgres replication', found)]
  return [
    warning('postgres replication', {
      what: `${found}, synchronous_commit: ${level}`,
      why: 'No commit waits for a standby, so a failover may undo the last revocations and lose the last tokens.',
      fix: 'set up synchronous replication (docs/postgres-failover.md)'
    })
  ]
}
