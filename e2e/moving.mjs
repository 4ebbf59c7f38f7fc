// Moves live refresh tokens of each other server of docs/moving-here.md: export, import, and the first use of each by its client. A tenth is
// used twice. Not run by npm test; some minutes on two cores.   node e2e/moving.mjs [--tokens 10000]
// Ends with 1 if a token does not go on, one that had ended does, a user must sign in or allow, or a second use is not as for our tokens.
import { registerResourceServer } from '../packages/dev-stack/lib/services/register.mjs'
import { foreignServers } from './moving/foreign-servers.mjs'
import { isComplete, moveTokens } from './moving/move-tokens.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'

const TIME_LIMIT_MINUTES = 30

const { tokens } = readOptions({ tokens: [10_000, 10, 100_000] })
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, authorizationServers: 2 }, async (cluster) => {
  await registerResourceServer(cluster.valetkey, cluster.resource)
  let isRight = true
  for (const [name, server] of Object.entries(foreignServers)) {
    const move = await moveTokens(cluster, name, server, tokens)
    isRight &&= isComplete(move, tokens)
    const { exported, imported, refreshed, refused, repeated, replayed, seconds, signIns, consents } = move
    console.log(
      `${name}: ${exported} lines; ${imported.tokens} tokens and ${imported.consents} consents imported; ${refreshed} went on in ` +
        `${seconds.toFixed(0)} s, ${refused} that had ended were refused; second uses: ${repeated} repeated, ${replayed} ended the grant; ` +
        `${signIns} sign-ins, ${consents} consents of users`
    )
  }
  return [isRight ? 0 : 1, [isRight ? 'all as expected' : 'NOT as expected']]
})
