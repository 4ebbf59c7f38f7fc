import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { createIdentityRebindingStore } from '../../../../src/features/foreign-sign-in/identities/identity-rebinding-store.js'
import { createIdentityStore } from '../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createUserImportStore } from '../../../../src/features/user-import/user-import-store.js'
import { createOwnSessionStore } from '../../../../src/storage/postgres/own-sessions.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { ISSUER, until } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { newAccountLink } from '../../invitations/support/account-links.js'
import { userWithPasskey } from '../../passkeys/support/passkeys.js'
import { mailingServer } from '../support/mailing-server.js'

const NEW_PASSWORD = 'gravel walks at dawn'

const world = mailingServer({ looksForMails: true })

const newIdentity = () => ({ issuer: 'https://id.example.com', subject: world.username })

const kinds = async () => (await world.queued())?.notices.map(({ kind }) => kind)
const users = () => createUserStore(world.server.database)
const identities = () => createIdentityStore(world.server.database)

async function changePassword(): Promise<void> {
  const browser = await signedInBrowser(world.server, world.username)
  await browser.submit(await browser.open(`${ISSUER}/account/password`), { new_password: NEW_PASSWORD })
}

describe('a mail is sent', () => {
  test('after a passkey is added', async () => {
    await userWithPasskey(world.server, world.username)
    await world.sendDue()
    const [mail] = await world.received(1)
    expect(mail?.content).toMatch(/^Subject: A passkey was added to your Valetkey account\r$/m)
    expect(mail?.content).toContain('Name of the passkey: Laptop')
    expect(mail?.content).toContain(`${ISSUER}/account/passkeys`)
  })

  test('after an identity is linked, by whichever program', async () => {
    await identities().link(world.userId, newIdentity(), NOTE)
    await world.sendDue()
    expect((await world.received(1))[0]?.content).toContain('Provider: id.example.com')
  })

  test('after the user sets a password', async () => {
    await changePassword()
    await world.sendDue()
    const [mail] = await world.received(1)
    expect(mail?.content).toMatch(/^Subject: The password of your Valetkey account was set\r$/m)
  })

  test('within seconds without another event in this process', async () => {
    await users().setPassword(world.userId, 'hash', NOTE)
    await world.received(1)
  })
})

describe('a change is noted', () => {
  test('if an operator sets the password', async () => {
    await world.holdMails()
    const set = ['users', 'set-password', world.username, '--password-stdin']
    expect((await runCommand(world.server.database, set, { stdin: NEW_PASSWORD })).code).toBe(0)
    expect(await kinds()).toEqual(['password_changed'])
  })

  test('if a link sets the password', async () => {
    await world.holdMails()
    const browser = world.server.newBrowser()
    const page = await browser.open(await newAccountLink(world.server, world.userId, 'password_reset'))
    await browser.submit(page, { new_password: NEW_PASSWORD })
    expect(await kinds()).toEqual(['password_changed'])
  })

  test('only if it takes effect: after the end of the session there is none', async () => {
    await world.holdMails()
    const acting = { userId: world.userId, sessionHash: 'x'.repeat(43) }
    await createOwnSessionStore(world.server.database).changePassword(acting, 'hash')
    expect(await kinds()).toEqual([])
  })
})

describe('no change is noted', () => {
  test('if a sign-in stores the same password with another hash', async () => {
    await world.holdMails()
    const [row] = await world.execute<{ hash: string }>(
      'select password_hash as hash from users where user_id = $1',
      world.userId
    )
    await users().replacePasswordHash(world.userId, { from: row?.hash ?? '', to: 'hash' })
    expect(
      await world.execute(`select from users where user_id = $1 and password_hash = 'hash'`, world.userId)
    ).toEqual([{}])
    expect(await kinds()).toEqual([])
  })

  test('if sessions end or the user is disabled and enabled', async () => {
    await world.holdMails()
    await users().endSessions(world.userId)
    await users().disable(world.userId, NOTE)
    await users().enable(world.userId, NOTE)
    expect(await kinds()).toEqual([])
  })

  test('if an identity gets another subject', async () => {
    const { issuer, subject } = newIdentity()
    await identities().link(world.userId, { issuer, subject }, NOTE)
    await world.execute('delete from security_mails')
    const rebinding = [{ from: subject, to: `${subject}-new` }]
    const rebindings = createIdentityRebindingStore(world.server.database)
    expect(await rebindings.rebind(rebinding, { issuer, newIssuer: issuer }, NOTE)).toBe(true)
    expect(await world.queued()).toBeUndefined()
  })

  test('if the user is created with it', async () => {
    const userId = randomUUID()
    const account = { username: `${world.username}-new`, displayName: undefined, email: 'new@example.com' }
    const user = { ...account, userId, keepsId: false, disabled: false, passwordHash: undefined }
    const identity = { ...newIdentity(), subject: account.username }
    expect(await createUserImportStore(world.server.database).add([{ ...user, identities: [identity] }], NOTE)).toBe(1)
    expect(await identities().list(userId)).toHaveLength(1)
    expect(await world.execute('select from security_mails where user_id = $1', userId)).toEqual([])
  })

  test('if the user has no address', async () => {
    await world.execute('update users set email = null where user_id = $1', world.userId)
    await changePassword()
    expect(await world.queued()).toBeUndefined()
  })

  test('a day after the last process with SECURITY_MAILS=on', async () => {
    await world.execute(`update security_mail_senders set active_until = now() - interval '1 second'`)
    await changePassword()
    expect(await world.queued()).toBeUndefined()
    await world.store.staySwitchedOn()
    await users().setPassword(world.userId, PASSWORD, NOTE)
    await until(async () => (await world.queued()) !== undefined)
  })
})
