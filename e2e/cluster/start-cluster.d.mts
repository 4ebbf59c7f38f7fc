export type TcpProxy = {
  port: number
  /** Introspections that went through, where it stands before an authorization server. */
  count(): number
  cut(): void
  /** @returns how many connections fall silent */
  silence(words: RegExp): number
}

export type Cluster = {
  /** Of the first authorization server; the others answer for it as well. */
  issuer: string
  resource: string
  authorizationServers: {
    publicPort: number
    internalPort: number
    operatorPort: number
    pid: number
    logFile: string
    postgres: TcpProxy
  }[]
  resourceServers: { url: string; operatorPort: number; pid: number; logFile: string; internal: TcpProxy }[]
  valetkey(args: readonly string[], options?: { input?: string }): Promise<Record<string, string>>
  valetkeyFiles(args: readonly string[]): Promise<Record<string, number>>
  stop(): Promise<void>
}

export function startCluster(options?: {
  authorizationServers?: number
  resourceServers?: number
  /** Seconds; 0 for none. */
  cacheSeconds?: number
  /** `warn` by default. */
  logLevel?: string
}): Promise<Cluster>
