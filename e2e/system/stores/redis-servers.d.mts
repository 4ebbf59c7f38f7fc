type Tools = { directory: string; processes: unknown; command: string }

export function startSentinels(tools: Tools): Promise<{
  url: string
  primary(): Promise<number | undefined>
  replicated(): Promise<void>
  killPrimary(): Promise<void>
}>

export function startSecuredRedis(tools: Tools): Promise<{ url: string; settings: Record<string, string> }>

export type PlainRedis = { port: number; url: string; tell(command: string): Promise<string> }

export function startPlainRedis(tools: Tools & { name: string; lines?: readonly string[] }): Promise<PlainRedis>
