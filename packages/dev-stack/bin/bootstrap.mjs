// Makes a fresh clone ready to run: installs the packages if the lock file or Node changed, then compiles. Node built-ins
// only, because no package is installed yet.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const marker = path.join(root, 'node_modules', '.bootstrap')

// A compilation that takes longer says what happens.
const ANNOUNCE_AFTER_MS = 1_000

requireNode()
await installIfStale()
await compile()

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  stop(`Valetkey needs Node 20.19 or newer; this is ${process.version}.`)
}

async function installIfStale() {
  const fingerprint = createHash('sha256')
    .update(readFileSync(path.join(root, 'pnpm-lock.yaml')))
    .update(process.version)
    .digest('hex')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === fingerprint) return
  console.error('Installing dependencies (first run, or the lock file changed) …')
  const pinned = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).packageManager
  const [command, ...prefix] = pnpmOnPath(pinned) ? ['pnpm'] : ['npx', '--yes', pinned]
  // CI=1: pnpm must never prompt. Its output goes to stderr; stdout is for the command itself.
  await run(command, [...prefix, 'install', '--frozen-lockfile'], { CI: '1' }, 'installing the dependencies failed')
  writeFileSync(marker, fingerprint)
}

/** A pnpm of another major refuses this workspace, so only the same major is used. */
function pnpmOnPath(pinned) {
  const major = pinned.slice(pinned.indexOf('@') + 1).split('.')[0]
  const found = spawnSync('pnpm', ['--version'], { cwd: '/', encoding: 'utf8', shell: process.platform === 'win32' })
  return found.status === 0 && found.stdout.trim().split('.')[0] === major
}

/** The first time takes half a minute, later ones under a second. */
async function compile() {
  const announcement = setTimeout(() => console.error('Compiling …'), ANNOUNCE_AFTER_MS)
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, '-b'], {}, 'the code does not compile')
  clearTimeout(announcement)
}

async function run(command, args, extraEnvironment, complaint) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...extraEnvironment },
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32'
  })
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(127))
    child.once('exit', resolve)
  })
  if (code !== 0) stop(`Stopped: ${complaint}.`)
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
