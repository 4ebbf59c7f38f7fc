// Exchanges one code many times concurrently, on two processes: exactly one exchange succeeds. Not run by npm test.
// node e2e/exchange-storm.mjs [--codes 1000] [--parallel 100] [--redis stays|restores]
// `restores`: the used code is written to Redis again after the first success, as after a failover that loses a write, and
// again after all exchanges.
import { createHash } from 'node:crypto'
import { exchangeForm } from '../packages/dev-stack/lib/client/app.mjs'
import { REDIRECT_URI } from '../packages/dev-stack/lib/services/register.mjs'
import { prepareApp } from './system/load/prepare-app.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'
import { tellRedis } from './system/stores/pause-stores.mjs'

const TIME_LIMIT_MINUTES = 20

const { codes, parallel, redis } = readOptions(
  { codes: [1_000, 1, 10_000], parallel: [100, 2, 1_000] },
  { redis: ['stays', 'restores'] }
)
await runOnCluster({ minutes: TIME_LIMIT_MINUTES }, storm)

async function storm(cluster) {
  const { resourceServer, addClient } = await prepareApp(cluster)
  const { client, nextCode } = await addClient()
  const [{ internalPort }] = cluster.authorizationServers

  const counts = new Map()
  const notOnce = []
  let alive = 0
  const startedAt = performance.now()
  for (let done = 1; done <= codes; done += 1) {
    const answers = await exchangeAtOnce(cluster, client, await nextCode())
    for (const { kind } of answers) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const won = answers.filter(({ kind }) => kind === '200')
    if (won.length !== 1) notOnce.push(won.length)
    // The other exchanges were valid except that the code was used, so its tokens have ended.
    for (const { body } of won) {
      const form = { token: JSON.parse(body).access_token }
      const answer = await sendRequest(internalPort, 'POST', '/introspect', { by: resourceServer, form })
      if (answer.body !== '{"active":false}') alive += 1
    }
    if (done % 100 === 0) console.log(`${done} codes`)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const isRight = [...counts.keys()].toSorted().join() === '200,400 invalid_grant' && counts.get('200') === codes
  const lines = [
    `${codes} codes, each exchanged ${parallel} times at once over two processes, in ${seconds.toFixed(1)} s`,
    ...[...counts].toSorted().map(([kind, count]) => `${kind}: ${count}`),
    `codes without exactly one success: ${notOnce.length}`,
    `tokens alive after it: ${alive}`
  ]
  return [isRight && notOnce.length === 0 && alive === 0 ? 0 : 1, lines]
}

async function exchangeAtOnce(cluster, client, code) {
  const { authorizationServers: instances } = cluster
  const failover = redis === 'restores' ? await prepareFailover(cluster, code) : undefined
  let restoring
  const exchange = async (_, index) => {
    const { publicPort } = instances[index % instances.length]
    const form = exchangeForm(code, REDIRECT_URI)
    const { status, body } = await sendRequest(publicPort, 'POST', '/token', { by: client, form })
    if (status === 200) restoring ??= failover?.()
    return { kind: status === 200 ? '200' : `${status} ${JSON.parse(body).error}`, body }
  }
  const answers = await Promise.all(Array.from({ length: parallel }, exchange))
  if (failover === undefined) return answers
  await restoring
  await failover()
  return [...answers, ...(await Promise.all(Array.from({ length: parallel }, exchange)))]
}

/** @returns a function that writes the current record of the code to Redis again */
async function prepareFailover(cluster, code) {
  const key = `vk:code:${createHash('sha256').update(code).digest('hex')}`
  const copy = async (from, to) => {
    const said = await tellRedis(cluster, `COPY ${from} ${to} REPLACE`)
    if (!said.includes(':1')) throw new Error(`Redis did not copy ${from}: ${said}`)
  }
  await copy(key, `before:${key}`)
  return () => copy(`before:${key}`, key)
}
