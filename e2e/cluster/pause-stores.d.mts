import type { Cluster } from './start-cluster.mjs'

/** Resolves when Postgres stands still, to what lets it go on. */
export function pausePostgres(cluster: Pick<Cluster, 'query'>): Promise<() => void>
export function pauseRedis(cluster: Pick<Cluster, 'redisUrl'>): Promise<() => void>
export function tellRedis(cluster: Pick<Cluster, 'redisUrl'>, command: string): Promise<string>
