import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startLocalRegistry } from './local-registry.mjs'
import { startStoreRegistry } from './store-registry.mjs'

const run = promisify(execFile)
const here = path.dirname(fileURLToPath(import.meta.url))

/** The compiler of the workspace, and the oldest that can `require` an ES module. */
const COMPILERS = { '7': '../../../../node_modules/typescript', '5.8': '../../node_modules/typescript-5.8' }
export type CompilerVersion = keyof typeof COMPILERS

const FRAMEWORKS = ['fastify@5', 'express@5', 'hono@4', '@types/express@5', '@types/node@20', 'ws@8', '@types/ws@8']

/** Packs the guard, publishes it to a local registry, and installs it from there in a project outside this workspace. */
export async function installPacked() {
  const directory = mkdtempSync(path.join(tmpdir(), 'stranger-'))
  const project = path.join(directory, 'project')
  const alone = path.join(directory, 'alone')
  cpSync(path.join(here, 'stranger'), project, { recursive: true })
  const packed = await run(process.execPath, [path.join(here, '../../publish/pack.mjs'), directory])
  const tarball = packed.stdout.trim()
  const store = await startStoreRegistry()
  const registry = await startLocalRegistry(path.join(directory, 'registry'), store.url)
  // An empty home directory, so that npm uses neither this machine's settings nor its cache.
  const home = path.join(directory, 'home')
  mkdirSync(home)
  try {
    // npm publishes only with some token, although the registry accepts anonymous clients.
    writeFileSync(path.join(home, '.npmrc'), `registry=${registry.url}\n${registry.url.slice(5)}:_authToken=none\n`)
    writeFileSync(path.join(project, 'package.json'), '{ "name": "stranger", "private": true }')
    const environment = { PATH: process.env.PATH, HOME: home }
    const npm = (...command: string[]) =>
      run('npm', [...command, '--loglevel=error'], { cwd: project, env: environment })
    await npm('publish', tarball)
    await npm('install', '--no-audit', '--no-fund', '@valetkey/guard', ...FRAMEWORKS)
    mkdirSync(alone)
    await npm('install', '--no-audit', '--no-fund', '--prefix', alone, '@valetkey/guard')
  } finally {
    await registry.close()
    await store.close()
  }
  return {
    project,
    /** A folder with nothing but the guard and what it requires. */
    alone,
    tarball,
    /** The errors of a compiler in a project file; '' without errors. */
    async compile(version: CompilerVersion, file: string, ...options: string[]): Promise<string> {
      const compiler = path.join(here, COMPILERS[version], 'bin/tsc')
      return run(process.execPath, [compiler, '-p', file, ...options], { cwd: project }).then(
        ({ stdout }) => stdout,
        ({ stdout, message }: { stdout?: string; message: string }) => stdout || message
      )
    },
    dispose: () => rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Runs a program of the installed project, which prints its address, until `stop`. */
export async function startStranger(project: string, ...command: string[]) {
  const env = { ...process.env, CLIENT_ID: 'reports', CLIENT_SECRET: 'secret' }
  const child = spawn(process.execPath, command, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const address = new Promise<string>((resolve) => {
    createInterface(child.stdout).on('line', (line) => line.startsWith('http://') && resolve(line))
  })
  return {
    address: await Promise.race([address, ended.then(() => Promise.reject(new Error(`${command} ended`)))]),
    async stop() {
      child.kill()
      await ended
    }
  }
}
