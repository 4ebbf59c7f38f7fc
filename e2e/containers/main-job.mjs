// The main flow on containers: the command lines create records, a user allows a client, the client lists the user's files.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createApp, REDIRECT_URI } from './app.mjs'
import { run } from './programs.mjs'
import { ACCESS_TOKEN_TTL } from './stack.mjs'

export const USER = { username: 'alice', password: 'walks on gravel at dawn' }
export const FILES = { 'Invoice 2026-10.pdf': 48_213, 'photos/Lake & mountain ü.jpg': 1_024, 'empty.txt': 0 }
// With this number, the probability that one of the three servers gets no request is one in five million.
const REQUESTS = 45

export async function mainJobChecks(report, stack) {
  const user = await report.check('valetkey users create, in a container', async () => {
    const { stdout } = await stack.compose(
      [
        'exec',
        '-T',
        'authorization-server',
        'valetkey',
        'users',
        'create',
        USER.username,
        '--password-stdin',
        '--json'
      ],
      { input: USER.password }
    )
    return JSON.parse(stdout)
  })
  const client = await report.check('valetkey clients create, in a container', async () => {
    const registration = ['--name', 'Photo Printer', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read', '--json']
    const { stdout } = await stack.compose([
      'exec',
      '-T',
      'authorization-server',
      'valetkey',
      'clients',
      'create',
      ...registration
    ])
    return JSON.parse(stdout)
  })
  await report.check('the files API has the title of FILES_TITLE', async () => {
    const { stdout } = await stack.valetkey(['resource-servers', 'list', '--json'])
    assert.deepEqual(
      JSON.parse(stdout).resource_servers.map(({ title }) => title),
      ['Files']
    )
  })
  await report.check('valetkey-files import, in a container', () => importFiles(stack, user.user_id))

  const app = createApp({ ...stack, clientId: client?.client_id, clientSecret: client?.client_secret })
  const granted = await report.check('sign in and allow: the app gets a code, its state and the issuer', async () => {
    const { answer, state, codeVerifier } = await app.authorize(USER, 'allow')
    assert.equal(answer.state, state)
    assert.equal(answer.iss, stack.issuer)
    assert.match(answer.code ?? '', /^vk_ac_/)
    return { code: answer.code, codeVerifier }
  })
  const tokens = await report.check('the code becomes an access token, with the life that was set', async () => {
    const { status, body } = await app.exchange(granted.code, granted.codeVerifier)
    assert.equal(status, 200, JSON.stringify(body))
    assert.match(body.access_token, /^vk_at_/)
    assert.equal(body.expires_in, ACCESS_TOKEN_TTL)
    return body
  })
  await report.check("the token lists the user's real files", async () => {
    const { status, body } = await app.listFiles(tokens.access_token)
    assert.equal(status, 200, JSON.stringify(body))
    const listed = Object.fromEntries(body.files.map((file) => [file.name, file.size]))
    const expected = Object.entries(FILES).map(([name, size]) => [path.posix.basename(name), size])
    assert.deepEqual(listed, Object.fromEntries(expected))
  })
  await report.check('all three resource servers answer', () => spreadOverServers(stack, app, tokens.access_token))
  return { app, tokens, client }
}

export async function endingChecks(report, { app, tokens }) {
  await report.check('Deny: the app receives access_denied', async () => {
    const { answer, state } = await app.authorize(USER, 'deny')
    assert.equal(answer.error, 'access_denied')
    assert.equal(answer.state, state)
  })
  await report.check('a code used twice is refused, and its token has ended', async () => {
    const { answer, codeVerifier } = await app.authorize(USER, 'allow')
    const first = await app.exchange(answer.code, codeVerifier)
    const second = await app.exchange(answer.code, codeVerifier)
    assert.deepEqual([first.status, second.status, second.body.error], [200, 400, 'invalid_grant'])
    assert.equal((await app.listFiles(first.body.access_token)).status, 401)
  })
  await report.check('a revoked token is refused by every server immediately', async () => {
    assert.equal((await app.listFiles(tokens.access_token)).status, 200)
    assert.equal((await app.revoke(tokens.access_token)).status, 200)
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => app.listFiles(tokens.access_token)))
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [401])
  })
}

async function importFiles(stack, userId) {
  const folder = await mkdtemp(path.join(tmpdir(), 'valetkey-files-'))
  try {
    for (const [name, size] of Object.entries(FILES)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
      await writeFile(path.join(folder, name), Buffer.alloc(size))
    }
    // The containers run as another user than this program.
    await run(['chmod', '-R', 'a+rX', folder])
    const { stdout } = await stack.compose(
      ['run', '--rm', '--no-deps', '-T', '--volume', `${folder}:/import/files:ro`, 'resource-server'].concat([
        'valetkey-files',
        'import',
        '--owner',
        userId,
        '/import/files',
        '--json'
      ])
    )
    assert.equal(JSON.parse(stdout).imported, Object.keys(FILES).length)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function spreadOverServers(stack, app, accessToken) {
  const answers = await Promise.all(Array.from({ length: REQUESTS }, () => app.listFiles(accessToken)))
  assert.ok(answers.every((answer) => answer.status === 200))
  const ids = await stack.containersOf('resource-server')
  assert.equal(ids.length, 3)
  for (const id of ids) {
    const { stdout } = await run(['docker', 'logs', id])
    const served = stdout
      .split('\n')
      .filter((line) => line.includes('"route":"/v1/files"') && line.includes('"status":200'))
    assert.ok(served.length > 0, `container ${id.slice(0, 12)} served nothing`)
  }
}
