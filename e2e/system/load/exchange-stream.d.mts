import type { Cluster } from '../start-cluster.mjs'
import type { Answer } from './send-request.mjs'

export function repeatAfterOutage(first: number, send: (turn: number) => Promise<Answer>): Promise<Answer[]>
export function serverAt(cluster: Cluster, turn: number): Cluster['authorizationServers'][number]
export function exchangeAt(
  cluster: Cluster,
  exchange: { client: Record<string, string>; code: string; turn?: number }
): Promise<Answer>

export function exchangeThroughStall(
  cluster: Cluster,
  options: {
    client: Record<string, string>
    nextCode: () => Promise<string>
    perSecond: number
    seconds: number
    stall(cluster: Cluster): Promise<() => void>
  }
): Promise<{ codes: string[]; answers: Answer[][] }>

export function summarize(stream: { codes: string[]; answers: Answer[][] }): {
  requests: number
  outages: number
  slowestMs: number
  refusals: string[]
  pairs: { code: string; token: string }[]
}

export function isActive(cluster: Cluster, resourceServer: Record<string, string>, token: string): Promise<boolean>
export function countReplays(cluster: Pick<Cluster, 'query'>): Promise<number>
export function replayAll(
  cluster: Cluster,
  replays: {
    client: Record<string, string>
    resourceServer: Record<string, string>
    pairs: { code: string; token: string }[]
  }
): Promise<string[]>
