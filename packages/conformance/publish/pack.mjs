// Makes the tarball that is published: node packages/conformance/publish/pack.mjs [directory]
// Prints where it lies; `npm publish <tarball>` does the rest. The folder itself is private, so that nothing else is published.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const home = fileURLToPath(new URL('..', import.meta.url))
const root = path.join(home, '../..')
const destination = path.resolve(process.argv[2] ?? '.')
const stage = mkdtempSync(path.join(tmpdir(), 'conformance-'))
try {
  run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-b', 'packages/conformance'])
  const isProgram = (file) => !/\.(map|d\.ts|tsbuildinfo)$/.test(file)
  cpSync(path.join(home, 'dist'), path.join(stage, 'dist'), { recursive: true, filter: isProgram })
  cpSync(path.join(home, 'README.md'), path.join(stage, 'README.md'))
  for (const name of ['LICENSE', 'NOTICE']) cpSync(path.join(root, name), path.join(stage, name))
  const { private: _private, ...manifest } = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'))
  writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const report = run('npm', ['pack', stage, '--pack-destination', destination, '--json'])
  process.stdout.write(`${path.join(destination, JSON.parse(report)[0].filename)}\n`)
} finally {
  rmSync(stage, { recursive: true, force: true })
}

function run(command, args) {
  const shell = command === 'npm' && process.platform === 'win32'
  const { status, stdout } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', shell, stdio: ['ignore', 'pipe', 'inherit'] }
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}: ${stdout}`)
  return stdout
}
