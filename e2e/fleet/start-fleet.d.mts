type Settings = Readonly<Record<string, string>>
type Service = 'authorization-server' | 'resource-server'

export type Instance = { name: string; ports: Settings; environment: Settings }

export type Fleet = {
  /** Of the balancer before all authorization servers. */
  issuer: string
  internalUrl: string
  /** Of the balancer before all resource servers, where there are any. */
  filesUrl: string | undefined
  instances: Record<Service, Instance[]>
  /** SIGTERM, and a start with the same settings but these. @returns how many milliseconds it took */
  restart(instance: Instance, change?: Settings): Promise<number>
  restartAll(service: Service, change?: Settings): Promise<void>
  untilBalanced(): Promise<void>
  close(): Promise<void>
}

export function startFleet(options: {
  directory: string
  processes: unknown
  /** Of each service. */
  size?: number
  resource: string
  settings: Partial<Record<Service, Settings>>
  /** Gives the credential for introspection; without it there are no resource servers. */
  registerResourceServer?: (addresses: Settings) => Promise<Settings>
}): Promise<Fleet>
