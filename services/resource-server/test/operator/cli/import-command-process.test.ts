import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createFilesWorld, type FilesWorld, ownerId } from '../../support/files-world.js'
import { readStoredFiles } from '../../support/stored-files.js'

const COMMAND_LINE = path.resolve(import.meta.dirname, '../../../dist/operator/cli/main.js')
const FILES = 2_000

let world: FilesWorld
let tree: string
beforeAll(async () => {
  world = await createFilesWorld()
  // While a test has the lock, an import cannot save its second batch.
  await query(`create function wait_after_first_batch() returns trigger language plpgsql as $$
    begin
      if exists (select from files) then perform pg_advisory_xact_lock_shared(727); end if;
      return null;
    end $$`)
  await query(`create trigger wait_after_first_batch before insert on files
    for each statement execute function wait_after_first_batch()`)
  tree = path.join(world.directory, 'tree')
  for (let index = 0; index < FILES; index++) {
    const directory = path.join(tree, `${index % 50}`)
    if (index < 50) mkdirSync(directory, { recursive: true })
    writeFileSync(path.join(directory, `${index}.txt`), '')
  }
})
afterAll(() => world.close())

function start(name: string) {
  const environment = { PATH: process.env.PATH ?? '', RESOURCE_DATABASE_URL: world.databaseUrl }
  const child = spawn(process.execPath, [COMMAND_LINE, 'import', '--owner', ownerId(name), '--json', tree], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.err += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, output, ended }
}

const countOf = async (name: string) => (await readStoredFiles(world.database, ownerId(name))).length

const query = (text: string) => world.database.query({ name: '', text, values: [] })

test.each([
  { name: 'SIGINT', signal: 'SIGINT', code: 130 },
  { name: 'SIGKILL', signal: 'SIGKILL', code: null }
] as const)(
  'an import ended by $name has saved whole batches, and the next run completes it',
  async ({ name, signal, code }) => {
    await query('truncate files cascade')
    await query('select pg_advisory_lock(727)')
    const { child, output, ended } = start(name)
    while ((await countOf(name)) === 0);
    child.kill(signal)
    await query('select pg_advisory_unlock_all()')
    expect(await ended).toBe(code)
    const saved = await countOf(name)
    expect(saved).toBeGreaterThan(0)
    expect(saved).toBeLessThan(FILES)
    expect(output.out).toBe('')
    if (signal === 'SIGINT')
      expect(output.err).toMatch(
        /^valetkey-files: interrupted after \d+ imported.* run the same command again to continue\n$/
      )
    const again = start(name)
    expect(await again.ended).toBe(0)
    const [counts, found] = [JSON.parse(again.output.out), await countOf(name)]
    expect(found).toBe(FILES)
    // The last batch may have been committed after the count.
    expect(counts.imported + counts.unchanged).toBe(FILES)
    expect(counts.unchanged).toBeGreaterThanOrEqual(saved)
    expect(again.output.err).toBe('')
  }
)

test('a path too long for the system is reported, the import continues, and nothing below it is pruned', async () => {
  const root = world.makeTree('deep', { 'a.txt': '' })
  // The path is longer than 4,096 bytes, so it is created as two halves.
  const step = 'd'.repeat(200)
  const half = Array(14).fill(step).join('/')
  const [upper, lower] = [path.join(root, half), path.join(world.directory, 'lower')]
  for (const directory of [upper, path.join(lower, half)]) mkdirSync(directory, { recursive: true })
  writeFileSync(path.join(lower, half, 'too deep.txt'), '')
  renameSync(lower, path.join(upper, 'lower'))
  const args = ['import', '--owner', ownerId('deep'), '--json', root]
  const { out, said } = await world.run(args)
  expect(JSON.parse(out)).toMatchObject({ imported: 1, unreadable: 1 })
  const unread = /^unreadable: (.+) \(ENAMETOOLONG\)$/m.exec(said)?.[1] ?? ''
  expect(unread.startsWith(`${root}/${step}`)).toBe(true)
  await world.database.query({
    name: 'enter_deep_file',
    text: `insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
      values (gen_random_uuid(), $1, $2, sha256('deep'), 'deep.txt', 'text/plain', 'documents', 0, now(), now())`,
    values: [ownerId('deep'), `${unread}/deep.txt`]
  })
  expect(JSON.parse((await world.run([...args, '--prune', '--yes'])).out)).toMatchObject({ pruned: 0, unreadable: 1 })
  execFileSync('rm', ['-r', step], { cwd: root })
  expect(JSON.parse((await world.run([...args, '--prune', '--yes'])).out)).toMatchObject({ pruned: 1, unreadable: 0 })
})

test('on a terminal, import shows its progress and removes the line at the end', async () => {
  const shown: string[] = []
  const columns = () => 100
  const { out } = await world.run(['import', '--owner', ownerId('watched'), tree], {
    isTerminal: true,
    columns,
    say: (text) => shown.push(text)
  })
  expect(out).toBe(`${FILES} imported, 0 updated, 0 unchanged, 0 skipped\n`)
  const bars = shown.filter((text) => text.includes(' of 2,000'))
  expect(bars.length).toBeGreaterThan(0)
  const clearLine = '\r\u001b[K'
  for (const text of shown) {
    expect(text.startsWith(clearLine)).toBe(true)
    expect(text.slice(clearLine.length)).toMatch(/^[^\r\n]{0,99}$/)
  }
  expect(shown.at(-1)).toBe(clearLine)
})
