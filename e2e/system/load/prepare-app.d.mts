import type { Cluster } from '../start-cluster.mjs'

export type PreparedApp = {
  userId: string
  account: { username: string; password: string }
  resourceServer: Record<string, string>
  addClient(): Promise<{ client: Record<string, string>; nextCode: () => Promise<string> }>
}

export function prepareApp(cluster: Pick<Cluster, 'issuer' | 'resource' | 'valetkey'>): Promise<PreparedApp>
export function authorizePath(client: Record<string, string>): string
export function exchangeForm(code: string): Record<string, string>
