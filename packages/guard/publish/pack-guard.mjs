import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { assemblePackage } from './assemble-package.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Makes the tarball that is published.
 * @param {string} destination an existing folder
 * @param {Parameters<typeof assemblePackage>[1]} [options]
 * @returns {Promise<string>} the path of the tarball
 */
export async function packGuard(destination, options) {
  const stage = mkdtempSync(path.join(tmpdir(), 'guard-'))
  try {
    run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-b', 'packages/guard'])
    await assemblePackage(stage, options)
    const report = run('npm', ['pack', stage, '--pack-destination', destination, '--json'])
    return path.join(destination, JSON.parse(report)[0].filename)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function run(command, args) {
  const shell = command === 'npm' && process.platform === 'win32'
  const { status, stdout } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', shell, stdio: ['ignore', 'pipe', 'inherit'] }
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}: ${stdout}`)
  return stdout
}
