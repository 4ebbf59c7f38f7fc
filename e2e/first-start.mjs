// Does what a newcomer does: runs `npm start`, connects the demo app, sees the list of files, and ends everything with Ctrl-C.
// Node built-ins only, because nothing may be installed yet. Not run by npm test.
// node e2e/first-start.mjs
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { isAlive, parentOf } from '../packages/dev-stack/lib/processes/process-table.mjs'

const root = path.resolve(import.meta.dirname, '..')
const STARTED_WITHIN_MS = 240_000
const STOPPED_WITHIN_MS = 10_000

const began = performance.now()
const npm = spawn('npm', ['start'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
let said = ''
for (const stream of [npm.stdout, npm.stderr]) {
  stream.setEncoding('utf8').on('data', (text) => {
    said += text
  })
}
const ended = new Promise((resolve) => npm.once('close', resolve))

try {
  await until(
    () => said.includes('Valetkey is running.') || npm.exitCode !== null,
    STARTED_WITHIN_MS,
    'npm start did not get ready'
  )
  report('npm start is ready')
  await connectDemoApp()
  report('the demo app lists the files')
  await stop()
  report('Ctrl-C ended everything')
} catch (error) {
  console.error(`${said}\n${error.stack}`)
  process.exitCode = 1
  if (npm.exitCode === null) process.kill(-npm.pid, 'SIGTERM')
}

async function connectDemoApp() {
  const word = (label) => new RegExp(`${label} +(\\S+)`).exec(said)?.[1] ?? ''
  const app = createHttpBrowser(word('Open'))
  const user = simulateUser(word('Issuer'), { username: word('Sign in as'), password: word('Password') })
  const leaving = await app.submit(await app.open(word('Open')), {})
  const callback = await user.decide(leaving.url, 'allow')
  const { html } = await app.open(callback)
  const pictures = readdirSync(path.join(root, 'examples/pictures')).filter((name) => /\.(png|jpe?g)$/i.test(name))
  const missing = pictures.filter((name) => !html.includes(name))
  if (pictures.length === 0 || missing.length > 0) throw new Error(`not listed: ${missing.join(', ')}\n${html}`)
}

async function stop() {
  const processes = descendantsOf(npm.pid)
  // A terminal sends the signal to npm and the launcher.
  process.kill(-npm.pid, 'SIGINT')
  const outcome = await Promise.race([ended.then(() => 'ended'), wait(STOPPED_WITHIN_MS, 'running')])
  if (outcome === 'running') throw new Error(`npm start did not end within ${STOPPED_WITHIN_MS / 1000} s after Ctrl-C`)
  await until(() => !processes.some(isAlive), STOPPED_WITHIN_MS, 'a process is left')
}

/** Linux only. */
function descendantsOf(pid) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isFolder(`/proc/${name}`))
  const childrenOf = (parent) => pids.map(Number).filter((child) => parentOf(child) === parent)
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

function isFolder(folder) {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
}

async function until(condition, limitMs, complaint) {
  const deadline = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(complaint)
    await wait(100)
  }
}

function report(text) {
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s: ${text}`)
}
