import type { Cluster } from '../start-cluster.mjs'

export type TokenSource = {
  userId: string
  clientId: string
  nextToken(): Promise<string>
  revoke(token: string, at?: string): Promise<object>
}

export function createTokenSource(
  cluster: Pick<Cluster, 'issuer' | 'valetkey'>,
  username?: string
): Promise<TokenSource>
