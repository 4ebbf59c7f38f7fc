import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startStoreRegistry } from './store-registry.mjs'

const run = promisify(execFile)
const here = path.dirname(fileURLToPath(import.meta.url))
const root = path.join(here, '../../../..')

/** Packs the guard and installs it with npm in a project outside this workspace. */
export async function installPacked() {
  const directory = mkdtempSync(path.join(tmpdir(), 'stranger-'))
  const project = path.join(directory, 'project')
  cpSync(path.join(here, 'stranger'), project, { recursive: true })
  const packed = await run(process.execPath, [path.join(here, '../../publish/pack.mjs'), directory])
  const tarball = packed.stdout.trim()
  const registry = await startStoreRegistry()
  mkdirSync(path.join(directory, 'home'))
  try {
    writeFileSync(path.join(project, 'package.json'), '{ "name": "stranger", "private": true }')
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--registry', registry.url]
    // An empty home directory, so that npm uses neither this machine's settings nor its cache.
    const environment = { PATH: process.env.PATH, HOME: path.join(directory, 'home') }
    const packages = [tarball, 'fastify@5', '@types/node@20']
    await run('npm', ['install', ...quiet, ...packages], { cwd: project, env: environment })
  } finally {
    await registry.close()
  }
  return {
    project,
    tarball,
    /** The errors of the workspace's compiler; '' if there are none. */
    async compile(): Promise<string> {
      const tsc = path.join(root, 'node_modules/typescript/bin/tsc')
      return run(process.execPath, [tsc, '-p', project], { cwd: project }).then(
        ({ stdout }) => stdout,
        ({ stdout }: { stdout: string }) => stdout
      )
    },
    dispose: () => rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Runs the installed project's app until `stop`. */
export async function startStranger(project: string, introspectionUrl: string) {
  const child = spawn(process.execPath, ['app.mjs', introspectionUrl], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    address: String((await output.next()).value),
    async stop() {
      child.kill()
      await ended
    }
  }
}
