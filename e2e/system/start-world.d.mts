import type { Flows } from './load/flows.mjs'
import type { Fleet } from './services/start-fleet.mjs'

type CommandLine = (args: readonly string[], options?: { input?: string }) => Promise<Record<string, string>>

type Database = { url: string; stop(): Promise<void>; comeBack(): Promise<void> }

export type World<Store = { url: string }, Postgres = Database> = {
  fleet: Fleet
  flows: Flows
  app: {
    userId: string
    clientId: string
    clientSecret: string
    redirectUri: string
    scope: string
    username: string
    password: string
  }
  redis: Store
  postgres: Postgres
  /** Database URLs of the authorization server and of the resource server. */
  databaseUrls: [string, string]
  resource: string
  directory: string
  processes: unknown
  valetkey: CommandLine
  valetkeyFiles: CommandLine
  close(): Promise<void>
}

/** Whether this machine has a Redis server, which is required. */
export function hasRedisServer(): boolean

/** The path of the Redis server. */
export function redisCommand(): string | undefined

export function startWorld<
  Store extends { url: string; settings?: Record<string, string> } = { url: string },
  Postgres extends { url: string } = Database
>(options?: {
  /** Settings of each authorization server; `DRAIN_DELAY` also of each resource server. */
  settings?: Readonly<Record<string, string>>
  withFiles?: boolean
  size?: number
  cacheSeconds?: number
  startStore?: (tools: { directory: string; processes: unknown; command: string }) => Promise<Store>
  startDatabase?: (tools: { directory: string; processes: unknown }) => Promise<Postgres>
}): Promise<World<Store, Postgres>>
