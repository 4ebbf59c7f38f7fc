import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { listenOnLoopback } from '../../../dev-stack/lib/processes/listen.mjs'

/** @import { ServerResponse } from 'node:http' */
/** @typedef {{ manifest: Record<string, unknown>, folder: string }} Installed */
/** @typedef {Map<string, Installed>} Versions by version */

const STORE = fileURLToPath(new URL('../../../../node_modules/.pnpm', import.meta.url))

/**
 * A package registry on loopback with the packages that this workspace has installed. npm resolves, downloads and unpacks
 * as usual, and the test needs no network.
 */
export async function startStoreRegistry() {
  const packages = readStore()
  const server = createServer((request, response) => {
    const [name = '', version] = decodeURIComponent(request.url?.slice(1) ?? '').split('/-/')
    const versions = packages.get(name)
    const installed = version === undefined ? undefined : versions?.get(version)
    if (versions === undefined || (version !== undefined && installed === undefined))
      return response.writeHead(404).end('{}')
    if (installed !== undefined) return sendTarball(response, installed.folder)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(describe(name, versions, `http://${request.headers.host}`)))
  })
  const port = await listenOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** name → version → manifest and folder */
function readStore() {
  /** @type {Map<string, Versions>} */
  const packages = new Map()
  for (const entry of readdirSync(STORE)) {
    // Folder names are name@version, with + for the slash; a list of peers may follow in brackets.
    const name = /^(.+?)@/.exec(entry.replace(/^@/, '%'))?.[1]?.replace(/^%/, '@').replace('+', '/')
    if (name === undefined) continue
    const folder = path.join(STORE, entry, 'node_modules', name)
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    const installed = {
      ...manifest,
      dependencies: installedVersions(manifest.dependencies ?? {}, path.join(STORE, entry))
    }
    const versions = packages.get(name) ?? new Map()
    packages.set(name, versions.set(manifest.version, { manifest: installed, folder }))
  }
  return packages
}

/**
 * The workspace overrides some ranges, so that no version in them may be installed. Links beside a package lead to its own.
 * @param {Record<string, string>} dependencies
 * @param {string} entry
 */
function installedVersions(dependencies, entry) {
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => {
      const file = path.join(entry, 'node_modules', name, 'package.json')
      return [name, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : range]
    })
  )
}

/**
 * @param {string} name
 * @param {Versions} versions
 * @param {string} origin
 */
function describe(name, versions, origin) {
  const described = [...versions].map(([version, { manifest }]) => {
    const { scripts: _scripts, devDependencies: _devDependencies, ...rest } = manifest
    return /** @type {const} */ ([
      version,
      { ...rest, dist: { tarball: `${origin}/${encodeURIComponent(name)}/-/${version}` } }
    ])
  })
  return { name, 'dist-tags': { latest: described.at(-1)?.[0] }, versions: Object.fromEntries(described) }
}

/**
 * npm removes the first folder of the tarball, so its name does not matter.
 * @param {ServerResponse} response
 * @param {string} folder
 */
function sendTarball(response, folder) {
  const tar = spawn('tar', ['-czf', '-', '-C', path.dirname(folder), path.basename(folder)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  tar.stdout.pipe(response.writeHead(200, { 'content-type': 'application/octet-stream' }))
}
