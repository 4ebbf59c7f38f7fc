import type { Cluster } from '../start-cluster.mjs'

/** Stops Postgres. Resolves to a function that resumes it. */
export function pausePostgres(cluster: Pick<Cluster, 'query'>): Promise<() => void>
export function pauseRedis(cluster: Pick<Cluster, 'redisUrl'>): Promise<() => void>
export function tellRedis(cluster: Pick<Cluster, 'redisUrl'>, command: string): Promise<string>
