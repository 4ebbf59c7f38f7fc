import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../../support/administration.js'
import { AUDIENCE, type Credentials } from '../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../support/command-line.js'
import { authorizeUrl, PASSWORD, refresh, responseParameters } from '../../../support/flow.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { pairOf } from '../../../support/tokens.js'
import { foreignToken, importFiles, inHours, tokenLine } from '../support/imports.js'

const OTHER_API = 'https://reports.example'

describe('tokens import', () => {
  const world = serverWithUser()
  const importLines = importFiles()
  let client: Credentials
  let asking: Credentials

  beforeAll(async () => {
    const { server } = world
    await server.createResourceServer()
    await server.createResourceServer(OTHER_API)
    await server.createScope('reports.read', { audience: OTHER_API })
    await server.createScope('reports.choose', { audience: OTHER_API, selects: true })
    asking = await server.createClient()
  })
  beforeEach(async () => {
    const optionalScopes = ['reports.read', 'reports.choose']
    client = await world.server.createClient({ consent: 'remember', optionalScopes })
  })

  const line = (change: object = {}, token = foreignToken()) =>
    tokenLine(token, { client_id: client.clientId, user: world.username, ...change })
  const consent = (change: object = {}) => ({
    consent: true,
    client_id: client.clientId,
    user: world.username,
    scope: 'files.read files.read:images',
    ...change
  })
  const run = (lines: readonly (object | string)[], ...more: string[]) => importLines(world.server, lines, { more })
  const count = async (table: string) => {
    const text = `select count(*)::integer as count from ${table}`
    const [row] = await world.server.database.query<{ count: number }>({ name: '', text, values: [] })
    return row?.count
  }
  const stored = async () => [await count('foreign_refresh_tokens'), await count('grants'), await count('consents')]

  test('names each line that will not work, and stores nothing; --dry-run stores nothing either', async () => {
    const [off, none] = [
      await world.server.createClient(),
      await world.server.createClient({ issuesRefreshTokens: false })
    ]
    await runCommand(world.server.database, ['clients', 'disable', off.clientId, '--yes'])
    await world.server.createUser('gone', PASSWORD)
    await runCommand(world.server.database, ['users', 'disable', 'gone', '--yes'])
    const twice = foreignToken()
    const lines = [
      line({}, twice),
      line({ client_id: 'unknown' }),
      line({ client_id: off.clientId }),
      line({ client_id: none.clientId }),
      line({ user: 'Unknown' }),
      line({ user: 'gone' }),
      line({ audience: 'https://unknown.example' }),
      line({ scope: 'openid files.write' }),
      line({ scope: 'reports.read' }),
      line({ scope: 'reports.choose', audience: OTHER_API }),
      line({ expires_at: inHours(-1) }),
      '{"refresh_token_sha256":',
      line({}, twice),
      consent({ client_id: asking.clientId }),
      '',
      consent()
    ]
    const before = await stored()
    const said = [
      `line 2: there is no client unknown`,
      `line 3: the client ${off.clientId} is disabled`,
      `line 4: the client ${none.clientId} gets no refresh tokens`,
      `line 5: there is no user unknown`,
      `line 6: the user gone is disabled`,
      `line 7: there is no resource server with the audience https://unknown.example`,
      `line 8: the client ${client.clientId} can have none of these scopes for ${AUDIENCE}: openid files.write`,
      `line 9: the client ${client.clientId} can have none of these scopes for ${AUDIENCE}: reports.read`,
      `line 10: the client ${client.clientId} can have none of these scopes for ${OTHER_API}: reports.choose`,
      `line 11: it has expired`,
      `line 12: is not a JSON object`,
      `line 13: the token is in line 1 as well`,
      `line 14: the client ${asking.clientId} remembers no consents`
    ]
    const dry = await run(lines, '--dry-run', '--json')
    expect(dry.code).toBe(4)
    expect(dry.said.split('\n').toSorted()).toEqual([...said, '13 lines were not imported'].toSorted())
    expect(JSON.parse(dry.out)).toEqual({
      tokens: 1,
      consents: 1,
      existing: 0,
      refused: 13,
      scopes_left_out: {},
      dry_run: true
    })
    const real = await run(lines)
    expect([real.code, real.out]).toEqual([2, ''])
    for (const each of said) expect(real.said).toContain(`${each}\n`)
    expect(real.said).toContain('13 lines cannot be imported; nothing was stored')
    expect(await stored()).toEqual(before)
  })

  test('with --skip-invalid imports the other lines', async () => {
    const token = foreignToken()
    const { code, out, said } = await run([line({ user: 'Unknown' }), line({}, token), '[]'], '--skip-invalid')
    expect([code, out]).toEqual([
      4,
      'Imported 1 refresh tokens and 0 consents\n0 were imported before, or decided here, and were not changed\n2 lines were refused\n'
    ])
    expect(said).toContain('2 lines were not imported')
    expect((await refresh(world.server, client, token)).statusCode).toBe(200)
  })

  test('run twice is as run once; the first run is in the audit trail, with the operator', async () => {
    const lines = [line(), line(), consent()]
    const first = await run(lines, '--json')
    expect(JSON.parse(first.out)).toMatchObject({ tokens: 2, consents: 1, existing: 0 })
    expect(await lastChangeIn(world.server)).toMatchObject({
      event: 'consents_imported',
      details: { count: 1, fromLine: 3, actor: { kind: 'command_line', name: OPERATOR } }
    })
    const after = await stored()
    const audited = `audit_events where event like '%s_imported'`
    const audits = await count(audited)
    const second = await run(lines, '--json')
    expect([second.code, JSON.parse(second.out)]).toMatchObject([0, { tokens: 0, consents: 0, existing: 3 }])
    expect([await stored(), await count(audited)]).toEqual([after, audits])
  })

  test('a repeated run does not bring back a token that was rotated and has ended', async () => {
    const token = foreignToken()
    await run([line({}, token)])
    const pair = pairOf(await refresh(world.server, client, token))
    pairOf(await refresh(world.server, client, pair.refresh_token))
    await refresh(world.server, client, token)
    await run([line({}, token)])
    expect((await refresh(world.server, client, token)).json().error).toBe('invalid_grant')
  })

  test('an interrupted run goes on where it ended: 2,500 tokens in three batches', async () => {
    const lines = Array.from({ length: 2_500 }, () => line())
    await run(lines.slice(0, 1_700))
    const { out } = await run(lines, '--json')
    expect(JSON.parse(out)).toMatchObject({ tokens: 800, existing: 1_700, refused: 0 })
    const text = `select (details ->> 'fromLine')::integer as line from audit_events where event = 'tokens_imported'
      order by event_id desc limit 2`
    const rows = await world.server.database.query({ name: '', text, values: [] })
    expect(rows).toEqual([{ line: 2_001 }, { line: 1_701 }])
  })

  test('says which scopes were left out of how many lines', async () => {
    const lines = [line({ scope: 'openid files.read offline_access' }), line({ scope: ['openid', 'files.read'] })]
    const { out, code } = await run(lines)
    expect(code).toBe(0)
    expect(out).toContain(
      'The scope openid was left out of 2 lines\nThe scope offline_access was left out of 1 lines\n'
    )
  })

  test('a consent that was imported spares the consent page, for its scope and not for another', async () => {
    await run([consent()])
    const browser = world.server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId, { scope: 'files.read files.read:images' }))
    const back = await browser.submitOnly(login, { username: world.username, password: PASSWORD })
    const code = async (scope: string) =>
      responseParameters(await browser.get(authorizeUrl(client.clientId, { scope, prompt: 'none' })))
    expect(back.statusCode).toBe(303)
    expect(await code('files.read files.read:images')).toMatchObject({ code: expect.any(String) })
    expect(await code('reports.read')).toMatchObject({ error: 'consent_required' })
  })

  test('a consent that has expired asks again', async () => {
    await run([consent({ expires_at: inHours(1) })])
    const text = 'select ends_at > now() as lasts from consents where client_id = $1'
    expect(await world.server.database.query({ name: '', text, values: [client.clientId] })).toEqual([{ lasts: true }])
  })

  test('an import does not change what the user decided here', async () => {
    const browser = world.server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId))
    const page = await browser.submit(login, { username: world.username, password: PASSWORD })
    await browser.submitOnly(page, { decision: 'allow' })
    const text = 'select scope, granted_at from consents where client_id = $1'
    const decided = await world.server.database.query({ name: '', text, values: [client.clientId] })
    const { out } = await run([consent({ scope: 'files.read files.read:images reports.read' })], '--json')
    expect(JSON.parse(out)).toMatchObject({ consents: 0, existing: 1 })
    expect(await world.server.database.query({ name: '', text, values: [client.clientId] })).toEqual(decided)
  })

  test('needs RESOURCE_URL, and a file', async () => {
    const without = await runCommand(world.server.database, ['tokens', 'import', 'none.ndjson']).catch(String)
    expect(without).toMatch(/RESOURCE_URL/)
    const environment = { RESOURCE_URL: AUDIENCE }
    const missing = await runCommand(world.server.database, ['tokens', 'import', 'none.ndjson'], { environment })
    expect([missing.code, missing.said]).toEqual([2, 'the file none.ndjson cannot be read'])
  })
})
