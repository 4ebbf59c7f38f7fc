import type { PlainRedis } from './redis-servers.mjs'

type Tools = { directory: string; processes: unknown; command: string }

export function startOneNodeCluster(tools: Tools): Promise<PlainRedis>

type RedisCluster = {
  url: string
  /** All nodes, by port. */
  ports: readonly number[]
  primaries(): Promise<number[]>
  tell(port: number, command: string): Promise<string>
  replicated(): Promise<number>
  fail(port: number, signal: 'SIGKILL' | 'SIGSTOP'): Promise<void>
  resume(): void
  moveSlots(from: number, to: number, count: number): Promise<void>
}

export function startRedisCluster(tools: Tools): Promise<RedisCluster>

/** With TLS at every port; `settings` names the authority. */
export function startSecuredRedisCluster(tools: Tools): Promise<RedisCluster & { settings: { REDIS_CA_FILE: string } }>
