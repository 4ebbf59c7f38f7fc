// Validates rendered documents against the types of the Kubernetes API. A document becomes a constant of its kind's type, so
// that the compiler refuses what a server would ignore silently: unknown fields.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { here } from './tools.mjs'

const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
/** These types are not of Kubernetes itself. */
const EXTENSIONS = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api'
}
const folder = path.join(here, 'node_modules', '.rendered')

/**
 * @param {{ name: string, documents: { apiVersion: string, kind: string }[] }[]} renderings
 * @returns {string[]} the compiler's complaints
 */
export function typeErrors(renderings) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { name, documents } of renderings) writeFileSync(path.join(folder, fileOf(name)), toSource(documents))
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: 'nodenext',
    moduleResolution: 'nodenext',
    target: 'es2023',
    types: []
  }
  const files = renderings.map(({ name }) => fileOf(name))
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', folder], {
    cwd: folder,
    encoding: 'utf8'
  })
  const complaints = stdout.split('\n').filter((line) => line.includes('error TS'))
  return status === 0 || complaints.length > 0 ? complaints : [stdout + stderr]
}

const fileOf = (name) => `${name.replace(/\W+/g, '-')}.ts`

function toSource(documents) {
  const lines = documents.map((document, index) => {
    const { apiVersion, kind } = document
    const models = EXTENSIONS[apiVersion.split('/')[0]] ?? 'kubernetes-models'
    const type = `import('${models}/${apiVersion}').I${kind}`
    return `export const document${index}: ${type} = ${JSON.stringify(document, undefined, 2)}`
  })
  return `${lines.join('\n\n')}\n`
}
