import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { descendantsOf, isAlive } from './support/process-tree.js'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS, until } from './support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

let checkout: StandInCheckout
beforeAll(async () => {
  checkout = await createStandInCheckout()
})
afterAll(() => checkout.dispose())

const allOf = (output: string, pattern: RegExp) => pattern.exec(output)?.[1]
const passwordIn = (output: string) => allOf(output, /Password +(\S+)/)

describe('npm start', () => {
  let firstPassword: string | undefined

  test('starts everything, shares its databases with the command lines, and stops without leaving a process', async () => {
    const launcher = checkout.start('start.mjs')
    await launcher.untilRunning()
    firstPassword = passwordIn(launcher.said.stdout)
    const processes = descendantsOf(launcher.child.pid ?? 0)
    // Postgres with its own children, both services, the demo client at least.
    expect(processes.length).toBeGreaterThan(6)
    expect(await (await fetch(`http://127.0.0.1:${checkout.ports[5]}/`)).text()).toBe('ready')

    const joined = await checkout.start('command-line.mjs', ['resource-server', 'users', 'list']).ended
    expect(joined).toMatchObject({ code: 0, stderr: '' })
    expect(checkout.state('calls').at(-1).resourceDatabaseUrl).toMatch(
      /^postgres:\/\/valetkey_files:.*\/valetkey_files$/
    )

    const second = await checkout.start('start.mjs').ended
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toMatch(new RegExp(`^[^\n]*already[^\n]*${launcher.child.pid}[^\n]*\n$`))

    launcher.child.kill('SIGTERM')
    expect(await launcher.ended).toMatchObject({ code: 0, stderr: '' })
    expect(processes.filter(isAlive)).toEqual([])
  })

  test('creates the demo data once, imports the pictures of the demo, and stores secrets for the owner only', () => {
    const calls: string[] = checkout.state('calls').map((call: { args: string[] }) => call.args.join(' '))
    expect(calls.filter((call) => call.startsWith('users create'))).toEqual([
      'users create alice --password-stdin --json'
    ])
    expect(calls).toContainEqual(expect.stringContaining('resource-servers create --name files --title Files'))
    expect(calls).toContainEqual(expect.stringMatching(/^import --owner user-1 \/.*\/examples\/pictures$/))
    expect(statSync(checkout.file('.data')).mode & 0o777).toBe(0o700)
    expect(statSync(checkout.file('.data/secrets.json')).mode & 0o777).toBe(0o600)
  })

  test('a second start finds the data of the first; kill -9 leaves no process', async () => {
    const launcher = checkout.start('start.mjs', ['--files', checkout.directory])
    await launcher.untilRunning()
    expect(passwordIn(launcher.said.stdout)).toBe(firstPassword)
    expect(checkout.state('users')).toHaveLength(1)
    expect(checkout.state('clients')).toHaveLength(1)
    expect(checkout.state('calls').at(-1).args).toEqual(['import', '--owner', 'user-1', checkout.directory])

    const processes = descendantsOf(launcher.child.pid ?? 0)
    launcher.child.kill('SIGKILL')
    await until(() => processes.filter(isAlive).length === 0)
  })

  test('starts normally after kill -9; a service that ends stops the rest, and its last log lines are printed', async () => {
    const failing = await checkout.start('start.mjs', [], { STAND_IN_FAILURE: 'ISSUER: is missing' }).ended
    expect(failing.code).toBe(1)
    expect(failing.stderr).toMatch(/server stopped unexpectedly \(exit code 1\)(.|\n)*ISSUER: is missing/)
  })

  test('stopped during its start: leaves no process, and the next start works', async () => {
    const launcher = checkout.start('start.mjs')
    await until(() => launcher.said.stdout.includes('Postgres'))
    const processes = descendantsOf(launcher.child.pid ?? 0)
    launcher.child.kill('SIGINT')
    expect(await launcher.ended).toMatchObject({ code: 0, stderr: '' })
    expect(processes.filter(isAlive)).toEqual([])
    expect(existsSync(checkout.file('.data/run.json'))).toBe(false)
  })

  test('stops when its npm is killed with -9', async () => {
    // A shell is in between, as with npm.
    const command = JSON.stringify(`"${process.execPath}" packages/dev-stack/bin/start.mjs`)
    const npm = `require('child_process').spawn(${command}, { shell: true, stdio: 'inherit' })`
    const standIn = spawn(process.execPath, ['-e', npm], {
      cwd: checkout.directory,
      env: { ...checkout.environment, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    let said = ''
    standIn.stdout.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    await until(() => said.includes('Valetkey is running.'))
    const processes = descendantsOf(standIn.pid ?? 0)
    standIn.kill('SIGKILL')
    await until(() => processes.filter(isAlive).length === 0)
  })

  test('reports every port in use with its variable before it starts a process', async () => {
    const taken = createServer().listen(checkout.ports[1], '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const refused = await checkout.start('start.mjs').ended
    taken.close()
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      new RegExp(`^Port ${checkout.ports[1]} for [^\n]*AUTH_INTERNAL_LISTEN=localhost:\\d+\n$`)
    )
  })

  test('a port that browsers block is reported like one in use', async () => {
    const refused = await checkout.start('start.mjs', [], { AUTH_PUBLIC_LISTEN: 'localhost:6000' }).ended
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      /^Port 6000 for [^\n]* is blocked by browsers; [^\n]*AUTH_PUBLIC_LISTEN=localhost:7000\n$/
    )
  })

  test('an invalid option: exit code 2 and one line', async () => {
    const refused = await checkout.start('start.mjs', ['--unknown']).ended
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/^[^\n]*--unknown[^\n]*\n$/)
  })
})
