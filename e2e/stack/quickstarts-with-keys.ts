import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { knownFiles } from '../support/known-files.js'
import { endQuickstarts, expectFilesAtWebApp, registerQuickstart, runQuickstart } from '../support/quickstarts.js'
import type { StackWorld } from './use-stack.js'

const REDIRECT_URI = 'http://127.0.0.1:4280/callback'
const NAMES = knownFiles.map(({ name }) => name).sort()

/** The key of a client, as the page creates it with openssl, and the options that register it. */
function createClientKey() {
  const folder = mkdtempSync(path.join(tmpdir(), 'client-key-'))
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [file, publicFile] = [path.join(folder, 'client.key'), path.join(folder, 'client.pub')]
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(publicFile, publicKey.export({ type: 'spki', format: 'pem' }))
  return {
    settings: { CLIENT_KEY_FILE: file },
    options: ['--auth-method', 'private_key_jwt', '--jwks', publicFile],
    remove: () => rmSync(folder, { recursive: true })
  }
}

function useClientKey() {
  const key = createClientKey()
  afterAll(endQuickstarts)
  afterAll(key.remove)
  return key
}

export function quickstartsWithKeys(world: StackWorld): void {
  const key = useClientKey()

  test('the web app with a key instead of a secret lists the files', async () => {
    await expectFilesAtWebApp('web-app-with-key.mjs', world.stack, world.at, key)
  })

  test('the native app with DPoP prints the files; its access token is bound', async () => {
    const client = await registerQuickstart(world.stack, REDIRECT_URI, '--public', '--dpop-bound')
    const program = await runQuickstart('native-app-dpop.mjs', world.at, client)
    const callback = await simulateUser(world.at.issuer, world.at).decide(new URL(program.address), 'allow')
    await fetch(callback)
    const { code, output } = await program.ended
    expect([code, output.split('\n').slice(1, -1).sort()]).toEqual([0, NAMES])
  })
}

export function quickstartsWithKeysInLanguages(world: StackWorld): void {
  const key = useClientKey()

  test('app-with-keys.py signs its assertion and its proofs, and prints the files', async () => {
    const client = await registerQuickstart(world.stack, REDIRECT_URI, '--dpop-bound', ...key.options)
    const program = await runQuickstart('app-with-keys.py', world.at, { ...client, ...key.settings })
    const callback = await simulateUser(world.at.issuer, world.at).decide(new URL(program.address), 'allow')
    program.type(callback.href)
    const { code, output } = await program.ended
    const printed = output.replace(/^.*browser then shows: /s, '')
    expect([code, printed.trimEnd().split('\n').sort()]).toEqual([0, NAMES])
  })
}
