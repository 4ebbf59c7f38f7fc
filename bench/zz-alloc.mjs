import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { startCounted } from './lib/counted-instance.mjs'
import { createStores } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'
import { COUNTED_HEAP } from './lib/heap.mjs'
import { sendAll } from './lib/send-all.mjs'
const which = process.argv[2] ?? 'code'
const N = 2000
await inWorkplace(async ({ directory, processes }) => {
  const stores = await createStores(['a', 'f'], { directory, processes, environment: {}, isDurable: false })
  COUNTED_HEAP.push('--import','/tmp/alloc/probe.mjs')
  const own = path.join(directory, 'x'); mkdirSync(own)
  const instance = await startCounted({ directory: own, processes, counts: {}, node: process.execPath, refreshes: false, databaseUrls: stores.databaseUrls, redisUrl: stores.redisUrl, environment: { CODE_TTL: '29', INTROSPECTION_CACHE_TTL: '0' } })
  const { prepare, send } = instance.operations[which]
  const run = async (n) => { const inputs = await prepare(n); return inputs }
  await sendAll((() => { let i; return (k) => send(i[k]) })(), { count: 0, senders: 1 })
  let inputs = await run(1500); await sendAll((k) => send(inputs[k]), { count: 1500, senders: 32 })
  inputs = await run(N)
  const ask = (child, message) => new Promise((r) => { const l = (m) => { if (m.ok) { child.off('message', l); r() } }; child.on('message', l); child.send(message) })
  for (const child of instance.children) await ask(child, { alloc: 'start' })
  await sendAll((k) => send(inputs[k]), { count: N, senders: 32 })
  let index = 0
  for (const child of instance.children) await ask(child, { alloc: 'stop', file: `/tmp/alloc/${which}-${index++}.json` })
  report()
  return 0
})
function report() {
for (let index = 0; index < 2; index++) {
  let profile
  try { profile = JSON.parse(readFileSync(`/tmp/alloc/${which}-${index}.json`)) } catch { continue }
  const self = new Map(), files = new Map(); let total = 0
  const short = (u) => u.replace(/.*node_modules\//, '').replace(/.*\/main\//, '').replace('file://', '')
  ;(function walk(node) {
    const { functionName, url, lineNumber } = node.callFrame
    const key = `${functionName || '(anon)'} ${short(url)}:${lineNumber + 1}`
    self.set(key, (self.get(key) ?? 0) + node.selfSize); total += node.selfSize
    files.set(short(url), (files.get(short(url)) ?? 0) + node.selfSize)
    node.children.forEach(walk)
  })(profile.head)
  console.log(`process ${index}: ${(total / N / 1024).toFixed(1)} KB a request`)
  const top = (m, n) => [...m].sort((a, b) => b[1] - a[1]).slice(0, n).map(([k, v]) => `${(v / N).toFixed(0).padStart(6)} ${k}`).join('\n')
  console.log(top(self, 60)); console.log('--- files'); console.log(top(files, 40))
}
}
