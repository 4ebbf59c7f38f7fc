type Tools = { directory: string; processes: unknown }

/** `url` is that of a superuser. */
export function startPostgresWithTls(tools: Tools): Promise<{ url: string; ca: string }>

export function startSmallPostgres(tools: Tools & { maxConnections: number }): Promise<{ url: string }>

export function startPostgresPair<Prepared>(
  tools: Tools & { prepare: (superuserUrl: string) => Promise<Prepared> }
): Promise<{
  prepared: Prepared
  /** Ports of the primary and the standby. */
  ports: [number, number]
  standbyUrl: string
  stopPrimary(): Promise<void>
}>
