export type TcpProxy = {
  port: number
  /** Number of introspections, if the proxy is before an authorization server. */
  count(): number
  cut(): void
  /** @returns the number of connections that become silent */
  silence(words: RegExp): number
  /** Drops the response to every second query with this text from now on, and ends the connection. */
  loseAnswers(words: RegExp): void
  /** @returns the number of dropped responses */
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
  /** Public address of the first authorization server. The others have the same issuer. */
  issuer: string
  resource: string
  redisUrl: string
  /** Runs SQL in the database of the authorization server. */
  query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  authorizationServers: AuthorizationServerProcess[]
  resourceServers: ResourceServerProcess[]
  /** Starts another process with additional variables, without waiting until it is ready. */
  addAuthorizationServer(environment: Record<string, string>): Promise<AuthorizationServerProcess>
  addResourceServer(environment: Record<string, string>): Promise<ResourceServerProcess>
  valetkey(args: readonly string[], options?: { input?: string }): Promise<Record<string, string>>
  valetkeyFiles(args: readonly string[]): Promise<Record<string, number>>
  stop(): Promise<void>
}

export function startCluster(options?: {
  authorizationServers?: number
  resourceServers?: number
  /** Seconds; 0 turns the cache off. */
  cacheSeconds?: number
  /** Default `warn`. */
  logLevel?: string
  /** Additional variables for each authorization server. */
  settings?: Record<string, string>
}): Promise<Cluster>
