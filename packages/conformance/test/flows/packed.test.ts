import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { HELP } from '../../src/command.js'

const run = promisify(execFile)
const pack = path.join(import.meta.dirname, '../../publish/pack.mjs')

test('the package installs without a registry, and npx runs its command', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'packed-'))
  try {
    const { stdout: tarball } = await run(process.execPath, [pack, directory])
    const [project, home] = [path.join(directory, 'project'), path.join(directory, 'home')]
    for (const folder of [project, home]) mkdirSync(folder)
    writeFileSync(path.join(project, 'package.json'), '{ "name": "stranger", "private": true }')
    const settings = { cwd: project, env: { PATH: process.env.PATH, HOME: home } }
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball.trim()], settings)
    expect((await run('npx', ['--offline', 'oauth-conformance', '--help'], settings)).stdout).toBe(HELP)
    const installed = path.join(project, 'node_modules/@valetkey/conformance')
    const manifest = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'))
    expect(manifest).not.toHaveProperty('private')
    expect(manifest).not.toHaveProperty('dependencies')
    expect(readFileSync(path.join(installed, 'LICENSE'), 'utf8')).toContain('Apache License')
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
})
