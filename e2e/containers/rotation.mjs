// Runs the commands of docs/rotation.md, "With compose", on the running stack, and checks that they change exactly what the
// page says.
import assert from 'node:assert/strict'
import { documentedCommands, withNames } from './documented-commands.mjs'
import { USER } from './main-job.mjs'
import { run } from './programs.mjs'
import { inspect } from './stack.mjs'

/** What each paragraph changes. */
const CHANGED = {
  '': ['authorization/cookie-keys'],
  '`COOKIE_KEYS`.': ['authorization/cookie-keys'],
  '`PAGE_TOKEN_KEYS`.': ['files/page-token-keys'],
  "A client's secret": [],
  "The resource server's credential.": [
    'files/introspection-client-id',
    'files/introspection-client-mark',
    'files/introspection-client-secret'
  ],
  'Passwords of the databases.': [
    'authorization/database-url',
    'files/database-url',
    'postgres/authorization-password',
    'postgres/files-password',
    'postgres/superuser-password'
  ],
  'Redis.': ['authorization/redis-url', 'redis/password', 'redis/redis.conf']
}

export async function rotationChecks(report, stack, { app, client }) {
  const { stdout } = await stack.valetkey(['operator-keys', 'create', '--name', 'leaver', '--json'])
  const names = {
    CLIENT_ID: client.client_id,
    NAME: 'successor',
    OPERATOR_KEY_ID: JSON.parse(stdout).operator_key_id
  }
  const paragraphs = documentedCommands('rotation.md', '## With compose')
  await report.check('docs/rotation.md has commands for every secret of the compose stack', () =>
    assert.deepEqual(Object.keys(paragraphs), Object.keys(CHANGED))
  )
  for (const [title, blocks] of Object.entries(paragraphs)) {
    await report.check(`docs/rotation.md, with compose: ${title || 'a secret is written'}`, async () => {
      const before = await hashes(stack)
      for (const block of blocks) await stack.shell(withNames(block, names), { seconds: 240 })
      assert.deepEqual(differences(before, await hashes(stack)), CHANGED[title])
      await mainJob(app)
    })
  }
  await report.check('what was replaced is no longer good', () => formerOnesAreGone(stack))
  await report.check('a credential of rotate-secret, written into the files, is taken and kept', () =>
    ownCredential(stack, app)
  )
  await report.check('after all that docker compose up changes no secret and restarts nothing', async () => {
    const before = [await hashes(stack), await startTimes(stack)]
    await stack.start()
    assert.deepEqual([await hashes(stack), await startTimes(stack)], before)
    await mainJob(app)
  })
  await report.check('write-secret.sh takes no unknown name, and no value that means something in a URL', async () => {
    const before = await hashes(stack)
    for (const [name, input] of [
      ['redis/pasword', 'good'],
      ['redis/password', 'good@evil'],
      ['redis/password', '']
    ]) {
      const { code } = await stack.script('write-secret.sh', [name], { input, mayFail: true })
      assert.notEqual(code, 0, `${name} ${input}`)
    }
    assert.deepEqual(await hashes(stack), before)
  })
}

async function hashes(stack) {
  const { stdout } = await stack.compose(
    ['run', '--rm', '--no-deps', '-T', 'secrets', 'sh', '-c'].concat('cd /secrets && sha256sum */*')
  )
  const lines = stdout.split('\n').filter(Boolean)
  return Object.fromEntries(lines.map((line) => line.split(/\s+/).reverse()))
}

function differences(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.filter((name) => before[name] !== after[name]).sort()
}

async function startTimes(stack) {
  return Object.fromEntries((await stack.inspectAll()).map(({ Name, State }) => [Name, State.StartedAt]))
}

/** The number of requests, large enough to reach each server. */
async function mainJob(app) {
  const { answer, codeVerifier } = await app.authorize(USER, 'allow')
  const { body: tokens } = await app.exchange(answer.code, codeVerifier)
  for (let asked = 0; asked < 9; asked += 1) {
    const { status, body } = await app.listFiles(tokens.access_token)
    assert.equal(status, 200, JSON.stringify(body))
  }
}

async function formerOnesAreGone(stack) {
  const servers = JSON.parse((await stack.valetkey(['resource-servers', 'list', '--json'])).stdout).resource_servers
  const keys = JSON.parse((await stack.valetkey(['operator-keys', 'list', '--json'])).stdout).operator_keys
  assert.equal(servers.length, 1)
  assert.deepEqual(
    keys.filter((key) => key.revoked_at === undefined).map(({ name }) => name),
    ['successor']
  )
  const [redis] = await inspect(await stack.containersOf('redis'))
  const ask = 'REDISCLI_AUTH=$(cat /run/valetkey/password) redis-cli acl list'
  const { stdout: rules } = await run(['docker', 'exec', redis.Id, 'sh', '-c', ask])
  assert.equal(rules.match(/#[0-9a-f]{64}/g)?.length, 1)
}

/** Changes the credential with the command line, as an operator without the page "With compose" does. */
async function ownCredential(stack, app) {
  const read = async (name) =>
    (await stack.compose(['run', '--rm', '--no-deps', '-T', 'secrets', 'cat', `/secrets/files/${name}`])).stdout
  const former = await read('introspection-client-id')
  const { stdout } = await stack.valetkey(['resource-servers', 'rotate-secret', former, '--json'])
  const { client_id: id, client_secret: secret } = JSON.parse(stdout)
  await stack.script('write-secret.sh', ['files/introspection-client-id'], { input: id })
  await stack.script('write-secret.sh', ['files/introspection-client-secret'], { input: secret })
  await stack.start()
  await stack.script('restart.sh', ['resource-server'])
  await stack.valetkey(['resource-servers', 'delete', former, '--yes'])
  assert.deepEqual([await read('introspection-client-id'), await read('introspection-client-secret')], [id, secret])
  await mainJob(app)
}
