import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type WalkEvent, walkDirectory } from '../../../src/operator/cli/walk-directory.js'

let root: string
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'valetkey-walk-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

async function walk(directory: string): Promise<WalkEvent[]> {
  const events: WalkEvent[] = []
  for await (const event of walkDirectory(Buffer.from(directory), () => false)) events.push(event)
  return events
}

test('a directory that is deleted during the walk is reported, and the walk continues', async () => {
  for (const name of ['a', 'b', 'c']) {
    mkdirSync(path.join(root, 'going', name), { recursive: true })
    writeFileSync(path.join(root, 'going', name, 'file'), '')
  }
  const events: WalkEvent[] = []
  for await (const event of walkDirectory(Buffer.from(path.join(root, 'going')), () => false)) {
    events.push(event)
    const seen = path.basename(path.dirname(event.path.toString()))
    // One of the three is open; the names of the other two have been read.
    if (events.length === 1) {
      const other = ['a', 'b', 'c'].find((name) => name !== seen) ?? ''
      rmSync(path.join(root, 'going', other), { recursive: true })
    }
  }
  expect(events.map((event) => event.kind).sort()).toEqual(['file', 'file', 'unreadable'])
})

/** Root may read everything, so the work runs as the user `nobody`. */
async function withoutPrivileges<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

test('a directory without permission is reported with the reason, and the walk continues', async () => {
  const directory = path.join(root, 'shut')
  mkdirSync(path.join(directory, 'locked'), { recursive: true })
  writeFileSync(path.join(directory, 'open.txt'), '')
  chmodSync(root, 0o755)
  chmodSync(path.join(directory, 'locked'), 0)
  const events = await withoutPrivileges(() => walk(directory))
  chmodSync(path.join(directory, 'locked'), 0o700)
  expect(events.map(({ kind }) => kind).sort()).toEqual(['file', 'unreadable'])
  expect(events.find(({ kind }) => kind === 'unreadable')).toMatchObject({ reason: 'EACCES' })
})
