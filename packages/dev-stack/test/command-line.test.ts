import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS } from './support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

let checkout: StandInCheckout
beforeAll(async () => {
  checkout = await createStandInCheckout()
})
afterAll(() => checkout.dispose())

const clientsShow = ['authorization-server', 'clients', 'show', 'unknown']

test('a command without a running stack and DATABASE_URL prints one line with instructions', async () => {
  const { code, stdout, stderr } = await checkout.start('command-line.mjs', clientsShow).ended
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^[^\n]*npm start[^\n]*DATABASE_URL[^\n]*\n$/)
})

test('the run file of a killed launcher is ignored', async () => {
  const unusedPid = 4_194_304
  const left = { VALETKEY_DATA: checkout.directory }
  writeFileSync(checkout.file('run.json'), JSON.stringify({ pid: unusedPid, environment: { DATABASE_URL: 'old' } }))
  expect(await checkout.start('command-line.mjs', clientsShow, left).ended).toMatchObject({ code: 1, stdout: '' })
})

test('a command with the caller’s DATABASE_URL has its own output and exit code', async () => {
  const given = { DATABASE_URL: 'postgres://given' }
  const list = checkout.start('command-line.mjs', ['authorization-server', 'users', 'list'], given)
  expect(await list.ended).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  const failing = checkout.start('command-line.mjs', ['authorization-server', 'exit', 'with', '7'], given)
  expect(await failing.ended).toMatchObject({ code: 7 })
})

test.each([['--help'], ['--version'], ['help'], ['completion', 'bash']])('%s needs no database', async (...args) => {
  expect(await checkout.start('command-line.mjs', ['resource-server', ...args]).ended).toMatchObject({ code: 0 })
})

test('a user name after --owner: looks this user up, and passes the id on', async () => {
  const given = { DATABASE_URL: 'postgres://given', RESOURCE_DATABASE_URL: 'postgres://files' }
  const create = ['authorization-server', 'users', 'create', 'alice']
  await checkout.start('command-line.mjs', create, given).ended
  const started = checkout.state('calls').length
  const owners = ['--owner=alice', '--owner=bob']
  for (const owner of owners) {
    await checkout.start('command-line.mjs', ['resource-server', 'import', owner, './photos'], given).ended
  }
  const calls = checkout.state('calls').slice(started)
  expect(calls.map(({ args }) => args)).toEqual([
    ['users', 'show', '--id', '--', 'alice'],
    ['import', '--owner=user-1', './photos'],
    // The stand-in records no failed lookup. The command refuses the name.
    ['import', '--owner=bob', './photos']
  ])
})
