import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'

const WALK = path.resolve(import.meta.dirname, '../../../dist/operator/cli/walk-directory.js')
const LEVELS = 400

let root: string
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'valetkey-deep-'))
  const script = `i=0; while [ $i -lt ${LEVELS} ]; do : > file; mkdir d e; : > e/file; cd d; i=$((i+1)); done`
  execFileSync('sh', ['-c', script], { cwd: root })
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

test.each(['walkDirectory', 'walkNames'])('%s reads a tree with more levels than the limit of open files', (walk) => {
  const program = `
    import { ${walk} } from ${JSON.stringify(WALK)}
    const found = {}
    for await (const event of ${walk}(Buffer.from(process.argv[1]), () => false)) {
      const kind = event?.kind ?? 'file'
      found[kind] = (found[kind] ?? 0) + 1
    }
    console.log(JSON.stringify(found))`
  const limited = 'ulimit -n 256 && exec "$0" --input-type=module -e "$1" "$2"'
  const out = execFileSync('sh', ['-c', limited, process.execPath, program, root], { encoding: 'utf8' })
  expect(JSON.parse(out)).toEqual({ file: 2 * LEVELS })
})
