import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { code, read, root, rowsBelow } from './documents.js'

/** The examples of the page, each with its file and its command. */
export const GUARDS = rowsBelow(read('docs/guarding.md'), '## Examples').map(([, file, , command]) => ({
  file: code(file)[0] ?? '',
  command: code(command)[0] ?? ''
}))

/** Starts an example with the page's command and settings, until it listens. */
export async function startGuard(command: string, settings: Record<string, string>) {
  const port = await freePort()
  const { HOME, PATH, TMPDIR } = process.env
  const child = spawn('sh', ['-c', command], {
    cwd: path.join(root, 'examples/guards'),
    env: { HOME, PATH, TMPDIR, PORT: String(port), ...settings },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const closed = once(child, 'close')
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`)
    await wait(50)
  }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      // The group, because `go run` does not pass signals on.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      await closed
    }
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) =>
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  )
  socket.destroy()
  return isOpen
}
