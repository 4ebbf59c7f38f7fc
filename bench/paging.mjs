// npm run bench:paging: cost of page 10,000 of a million files compared with page 1, in processor time of the resource
// server and its Postgres. All pages are read once: every file must occur once, and the server's memory must not grow.
// Rounds are interleaved, on 127.0.0.1; takes about three minutes. Exits with 1 if the ratio is too high. Linux only.
import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { collectAccessTokens } from './lib/access-tokens.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { processSeconds } from './lib/process-seconds.mjs'
import { inRounds } from './lib/rounds.mjs'
import { sendAll } from './lib/send-all.mjs'
import { median } from './lib/statistics.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'
import { backendsOf, storeManyFiles } from './paging-files.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 6)
const PAGES = 10_000
const PAGE_SIZE = 100
const REQUESTS = 1_500
// Fewer than the server's connections to Postgres, so that no new one is opened.
const SENDERS = 4
const GATE = 1.2
// Resident memory in the last quarter of the pages compared with the quarter before.
const MEMORY_GATE = 1.1

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const stores = await createStores(['authorization', 'files'], { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const started = await startValetkey({ ...stores, directory: `${directory}/valetkey`, processes })
  const [accessToken] = await collectAccessTokens(started, 1)
  const [, filesDatabaseUrl] = stores.databaseUrls
  await storeManyFiles(filesDatabaseUrl, started.user.id, PAGES * PAGE_SIZE)
  console.log(`${PAGES * PAGE_SIZE} files are stored; paging to the end …`)

  const pid = started.pids[1]
  const { origin, pathname } = new URL(started.filesUrl)
  const pool = new Pool(origin, { connections: SENDERS })
  const way = await pageToTheEnd()
  const contenders = [
    { name: 'page 1', query: '' },
    { name: `page ${PAGES}`, query: `&page_token=${way.lastToken}` }
  ]
  for (const { query } of contenders) await sendAll(() => read(query), { count: REQUESTS, senders: SENDERS })
  const pids = { server: [pid], postgres: await backendsOf(filesDatabaseUrl) }
  const figures = await inRounds(contenders, ROUNDS, measure)
  return report(figures, way)

  /** Reads all pages in order, as an application does. */
  async function pageToTheEnd() {
    const ids = new Set()
    const megabytes = []
    let [pages, lastToken, token] = [0, '', '']
    do {
      lastToken = token
      const page = JSON.parse(await read(token && `&page_token=${token}`))
      for (const { id } of page.files) ids.add(id)
      pages++
      if (pages % 50 === 0) megabytes.push(residentMegabytes(pid))
      token = page.next_page_token
    } while (token !== undefined)
    const quarter = megabytes.length >> 2
    const [before, after] = [megabytes.slice(-2 * quarter, -quarter), megabytes.slice(-quarter)].map(median)
    return { pages, files: ids.size, lastToken, before, after }
  }

  async function read(query) {
    const path = `${pathname}?page_size=${PAGE_SIZE}${query}`
    const headers = { authorization: `Bearer ${accessToken}` }
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`${path} responded with ${statusCode}: ${text.slice(0, 500)}`)
    return text
  }

  /** @returns microseconds of processor time for each request */
  async function measure({ query }) {
    const [server, postgres] = [processSeconds(pids.server), processSeconds(pids.postgres)]
    await sendAll(() => read(query), { count: REQUESTS, senders: SENDERS })
    const cost = (before, now) => ((now - before) / REQUESTS) * 1e6
    return {
      server: cost(server, processSeconds(pids.server)),
      postgres: cost(postgres, processSeconds(pids.postgres))
    }
  }
})

function residentMegabytes(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

function report(figures, { pages, files, before, after }) {
  console.log(
    `${pages} pages of ${PAGE_SIZE} had ${files} different files; memory of the server: ${before.toFixed(0)} MB`
  )
  console.log(`over the third quarter of the way, ${after.toFixed(0)} MB over the last\n`)
  console.log(
    `${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${SENDERS} at a time; medians of CPU time a request`
  )
  const [first, last] = [...figures].map(([name, values]) => {
    const [server, postgres] = ['server', 'postgres'].map((part) => median(values.map((value) => value[part])))
    console.log(`${name.padEnd(10)} server ${server.toFixed(0)} µs, Postgres ${postgres.toFixed(0)} µs`)
    return values.map((value) => value.server + value.postgres)
  })
  // Computed for each round, because other load on the machine changes between rounds.
  const ratio = median(last.map((total, round) => total / first[round]))
  const faults = [
    ratio > GATE && `over the gate of ${GATE}`,
    (pages !== PAGES || files !== PAGES * PAGE_SIZE) && 'files are missing, or came twice',
    after > before * MEMORY_GATE && `the memory of the server grew by more than a factor of ${MEMORY_GATE}`
  ].filter(Boolean)
  console.log(`page ${PAGES} / page 1: ${ratio.toFixed(2)}${faults.length === 0 ? `, within the gate of ${GATE}` : ''}`)
  for (const fault of faults) console.log(fault)
  return faults.length === 0 ? 0 : 1
}
