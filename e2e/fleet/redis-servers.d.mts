type Tools = { directory: string; processes: unknown; command: string }

export function startSentinels(tools: Tools): Promise<{
  url: string
  primary(): Promise<number | undefined>
  killPrimary(): Promise<void>
}>

export function startSecuredRedis(tools: Tools): Promise<{ url: string; settings: Record<string, string> }>
