import type { PlainRedis } from './redis-servers.mjs'

type Tools = { directory: string; processes: unknown; command: string }

export function startOneNodeCluster(tools: Tools): Promise<PlainRedis>

export function startRedisCluster(tools: Tools): Promise<{
  url: string
  /** All nodes, by port. */
  ports: readonly number[]
  primaries(): Promise<number[]>
  tell(port: number, command: string): Promise<string>
  replicated(): Promise<number>
  fail(port: number, signal: 'SIGKILL' | 'SIGSTOP'): Promise<void>
  resume(): void
  moveSlots(from: number, to: number, count: number): Promise<void>
}>
