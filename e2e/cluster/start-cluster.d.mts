export type TcpProxy = {
  port: number
  /** Introspections that went through, where it stands before an authorization server. */
  count(): number
  cut(): void
  /** @returns how many connections fall silent */
  silence(words: RegExp): number
  /** From now on the answer to every second question with these words is lost, and its connection ends. */
  loseAnswers(words: RegExp): void
  /** @returns how many answers were lost */
  stopLosing(): number
}

type ServiceProcess = { operatorPort: number; pid: number; logFile: string; exited: Promise<{ code: number | null }> }
type AuthorizationServerProcess = ServiceProcess & {
  publicPort: number
  internalPort: number
  postgres: TcpProxy
  redis: TcpProxy
}
type ResourceServerProcess = ServiceProcess & { url: string; internal: TcpProxy }

export type Cluster = {
  /** Of the first authorization server; the others answer for it as well. */
  issuer: string
  resource: string
  redisUrl: string
  /** At the database of the authorization server. */
  query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  authorizationServers: AuthorizationServerProcess[]
  resourceServers: ResourceServerProcess[]
  /** One more process, which is not waited for, with these variables beside its own. */
  addAuthorizationServer(environment: Record<string, string>): Promise<AuthorizationServerProcess>
  addResourceServer(environment: Record<string, string>): Promise<ResourceServerProcess>
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
  /** More variables for each authorization server. */
  settings?: Record<string, string>
}): Promise<Cluster>
