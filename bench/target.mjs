// npm run bench:target -- [ours.json]: starts both services for measurement by another program, writes their addresses to a
// JSON file, and runs until stopped. README.md lists its settings. Linux only.
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { moveToOtherCore } from './lib/cores.mjs'
import { createStores } from './lib/stores.mjs'
import { FILES_SCOPE, REDIRECT_URI, SCOPE } from './lib/test-data.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const file = path.resolve(process.argv[2] ?? 'ours.json')
const environment = process.env

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const stores = await createStores(['authorization', 'files'], { directory, processes, environment })
  afterwards(stores.drop)
  // Thousands of codes are collected before they are redeemed, so they have the longest lifetime.
  const settings = { CODE_TTL: '29', ...environment }
  const valetkey = await startValetkey({ ...stores, directory, processes, environment: settings })
  // The services stop before their databases are removed.
  afterwards(() => processes.stopAll())
  writeFileSync(file, `${JSON.stringify(describe(valetkey), null, 2)}\n`, { mode: 0o600 })
  afterwards(() => rmSync(file, { force: true }))
  console.log(`ready: ${file}`)
  return new Promise(() => {})
})

function describe({ cookie, client, resourceServer, pids, ...urls }) {
  const [as, rs] = pids
  return {
    authorize: urls.authorizeUrl,
    authorize_status: 303,
    token: urls.tokenUrl,
    introspect: urls.introspectUrl,
    introspect_auth: 'basic',
    introspect_headers: {},
    // A program with its own resource server has no `resource`, and measures only introspection.
    ...(SCOPE === FILES_SCOPE && { resource: urls.filesUrl }),
    client_id: client.id,
    client_secret: client.secret,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    rs_client_id: resourceServer.id,
    rs_client_secret: resourceServer.secret,
    cookie,
    cookie_command: `printf '%s' '${cookie}'`,
    pids: { as, rs, trees: [] }
  }
}
