// Starts an Apache in front of an API, in a temporary folder, with one loopback listener and only the modules it needs.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'

const APACHE = '/usr/sbin/apache2'
const MODULES = '/usr/lib/apache2/modules'
const NEEDED = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'proxy', 'proxy_http', 'rewrite', 'oauth2']

/** `protect` is the configuration of each protected path, by its name. */
export async function startApache(protect) {
  if (!existsSync(APACHE) || !existsSync(`${MODULES}/mod_oauth2.so`)) {
    throw new Error('needs Apache with mod_oauth2: apt-get install apache2-bin libapache2-mod-oauth2')
  }
  const home = mkdtempSync(path.join(tmpdir(), 'valetkey-apache-'))
  const port = await freePort()
  // The API behind Apache, which checks no token.
  const api = createServer((_request, response) => response.end('in'))
  await new Promise((resolve) => api.listen(0, '127.0.0.1', resolve))
  const folders = Object.entries(protect).map(([name, directives]) => {
    return `<Location "/${name}">\nProxyPass http://127.0.0.1:${api.address().port}/\n${directives}\n</Location>`
  })
  const lines = [
    ...NEEDED.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    `ServerRoot "${home}"`,
    `Listen 127.0.0.1:${port}`,
    'ServerName localhost',
    'PidFile apache.pid',
    'DefaultRuntimeDir .',
    'ErrorLog error.log',
    'LogLevel warn',

    ...folders
  ]
  writeFileSync(path.join(home, 'apache.conf'), `${lines.join('\n')}\n`)

  const child = spawn(APACHE, ['-d', home, '-f', 'apache.conf', '-D', 'FOREGROUND'], { stdio: 'inherit' })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await untilItListens(port, ended)

  return {
    async get(name, accessToken) {
      const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }
      const answer = await fetch(`http://127.0.0.1:${port}/${name}/`, { headers, signal: AbortSignal.timeout(10_000) })
      await answer.arrayBuffer()
      return { status: answer.status, challenge: answer.headers.get('www-authenticate') ?? '' }
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
      api.closeAllConnections()
      api.close()
      rmSync(home, { recursive: true, force: true })
    }
  }
}

async function untilItListens(port, ended) {
  let running = true
  ended.then(() => {
    running = false
  })
  for (const limit = Date.now() + 10_000; running && Date.now() < limit; ) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false
    )
    if (isUp) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('Apache did not start')
}
