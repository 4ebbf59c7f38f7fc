import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { registerResourceServer } from '../packages/dev-stack/lib/services/register.mjs'
import { foreignServers } from './moving/foreign-servers.mjs'
import { moveTokens } from './moving/move-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ authorizationServers: 2 })
  await registerResourceServer(cluster.valetkey, cluster.resource)
})
afterAll(() => cluster.stop())

test.each(Object.entries(foreignServers))(
  'every live refresh token of %s goes on without its user, by the export of the guide',
  async (name, server) => {
    const move = await moveTokens(cluster, name, server, 50)
    const stored = { tokens: 50, consents: 5, existing: 0, refused: 0 }
    expect(move).toMatchObject({
      exported: 55,
      dryRun: stored,
      imported: stored,
      again: { tokens: 0, consents: 0, existing: 55, refused: 0 },
      refreshed: 50,
      refused: 5,
      repeated: 5,
      replayed: 5,
      signIns: 0,
      consents: 0
    })
  }
)
