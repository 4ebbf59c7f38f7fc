import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ISSUER } from './authorization-server.js'
import { es256, LOGIN_ISSUER } from './handoff.js'

const PROGRAM = path.resolve(import.meta.dirname, '../../../../examples/login-page/login-page.mjs')

/** The example for operators, as its own process. */
export async function startExampleLoginPage(directory: string): Promise<{ url: string; child: ChildProcess }> {
  const keyFile = path.join(directory, 'login.pem')
  await writeFile(keyFile, es256.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const child = spawn(process.execPath, [PROGRAM], {
    env: { VALETKEY_ISSUER: ISSUER, LOGIN_ISSUER, LOGIN_PRIVATE_KEY_FILE: keyFile, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      const found = /on port (\d+)/.exec(String(chunk))?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the login page ended with ${code}`)))
  })
  return { url: `http://127.0.0.1:${port}/`, child }
}
