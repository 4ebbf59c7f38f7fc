type Settings = Readonly<Record<string, string>>
type Service = 'authorization-server' | 'resource-server'

export type Instance = { name: string; ports: Settings; environment: Settings }

export type Fleet = {
  /** URL of the load balancer before the authorization servers. */
  issuer: string
  internalUrl: string
  /** URL of the load balancer before the resource servers, if there are any. */
  filesUrl: string | undefined
  instances: Record<Service, Instance[]>
  /** Stops with SIGTERM and starts again with these settings changed. @returns the duration in milliseconds */
  restart(instance: Instance, change?: Settings): Promise<number>
  restartAll(service: Service, change?: Settings): Promise<void>
  untilBalanced(): Promise<void>
  close(): Promise<void>
}

export function startFleet(options: {
  directory: string
  processes: unknown
  /** The number of processes of each service. */
  size?: number
  resource: string
  settings: Partial<Record<Service, Settings>>
  /** Returns the credential for introspection; without it no resource servers are started. */
  registerResourceServer?: (addresses: Settings) => Promise<Settings>
}): Promise<Fleet>
