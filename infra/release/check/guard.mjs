import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { readFromCheckout, root } from '../versions.mjs'
import { equal } from './equal.mjs'

const run = promisify(execFile)
const ENTRIES = ['guard', 'guard/node', 'guard/web', 'guard/mcp'].map((entry) => `@valetkey/${entry}`)

/** Uses an installed guard as ES module, from CommonJS and with types, as its README does. @param {string} project its folder */
export async function useGuard(project) {
  const names = JSON.stringify(ENTRIES)
  writeFileSync(
    path.join(project, 'use.mjs'),
    `for (const name of ${names}) console.log(Object.keys(await import(name)).length > 0)`
  )
  writeFileSync(
    path.join(project, 'use.cjs'),
    `for (const name of ${names}) console.log(Object.keys(require(name)).length > 0)`
  )
  for (const file of ['use.mjs', 'use.cjs']) {
    const { stdout } = await run(process.execPath, [file], { cwd: project })
    equal(`exports seen by ${file}`, stdout, 'true\n'.repeat(ENTRIES.length))
  }
  // The first and the second example of the README.
  const readme = readFromCheckout('packages/guard/README.md')
  const [, guard] = /^```ts\n(\/\/ guard\.ts\n[\s\S]*?)^```$/m.exec(readme) ?? []
  const [, http] = /^```ts\n(\/\/ http\.ts\n[\s\S]*?)^```$/m.exec(readme) ?? []
  writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(path.join(project, 'guard.ts'), guard)
  writeFileSync(path.join(project, 'http.ts'), http)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, ...options, 'guard.ts', 'http.ts'], { cwd: project }).catch(({ stdout }) => {
    throw new Error(`the README's examples do not compile: ${stdout}`)
  })
}
