import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createStack, type Stack } from './system/stack.mjs'

type Document = { findings: { check: string; severity: string; what: string }[]; fatal: number }

let folder: string
let stack: Stack
let operatorUrl: string
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'valetkey-bare-'))
  const files = path.join(folder, 'files')
  mkdirSync(files)
  stack = await createStack({ files, environment: { PATH: pathWithoutRedis() } })
  operatorUrl = (await stack.start()).operatorUrl
})
afterAll(async () => {
  await stack?.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** It has only what Postgres needs when root starts it. */
function pathWithoutRedis(): string {
  const programs = path.join(folder, 'programs')
  mkdirSync(programs)
  for (const name of ['setpriv', 'true', 'unshare']) {
    const found = (process.env.PATH ?? '').split(':').map((place) => path.join(place, name))
    for (const file of found.filter(existsSync).slice(0, 1)) symlinkSync(file, path.join(programs, name))
  }
  return programs
}

test('npm start without redis-server: doctor has one ok line for Redis, and examines everything else', async () => {
  const { findings, fatal } = await stack.valetkey<Document>(['doctor'])
  expect(fatal).toBe(0)
  expect(findings.filter(({ check }) => /redis/i.test(check))).toEqual([
    expect.objectContaining({ check: 'Redis', severity: 'ok', what: expect.stringContaining('emulated by npm start') })
  ])
  const checks = findings.map(({ check }) => check)
  expect(checks).toEqual(expect.arrayContaining(['ISSUER', 'COOKIE_KEYS', 'postgres', 'migrations', 'LOG_LEVEL']))
})

test('npm start without redis-server: the page of the operator has no warning about Redis', async () => {
  const page = await (await fetch(operatorUrl)).text()
  expect(page).not.toMatch(/REDIS_URL|emulated\.invalid/)
  expect(page).toContain('postgres role')
})
