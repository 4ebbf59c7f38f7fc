import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { Client } from 'pg'
import type { ClaimedMail } from '../../../../src/features/security-mails/security-mail-store.js'
import { until } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { mailingServer } from '../support/mailing-server.js'

const world = mailingServer()

const addNotice = (userId = world.userId) =>
  world.execute(`select add_security_notice($1, 'en', '{"kind":"password_changed"}')`, userId)

/** The mail of the user, which a process claims. */
async function claimOwn(): Promise<ClaimedMail> {
  const claimed = await world.store.claim(100)
  const own = claimed.find(({ userId }) => userId === world.userId)
  if (own === undefined) throw new Error('not due')
  return own
}

describe('two processes', () => {
  test('send each of 60 mails once', async () => {
    const userIds: string[] = []
    for (let index = 0; index < 60; index += 1) {
      const userId = await world.server.createUser(`${world.username}-${index}`, PASSWORD)
      await world.execute('update users set email = $1 where user_id = $2', `${userId}@example.com`, userId)
      userIds.push(userId)
    }
    for (const userId of userIds) await addNotice(userId)
    const sent: string[] = []
    const mailer = async ({ to }: { to: string }) => {
      sent.push(to)
      return undefined
    }
    const senders = [world.newSender(mailer), world.newSender(mailer)]
    await until(async () => {
      for (const sender of senders) sender.wake()
      return sent.filter((to) => userIds.some((userId) => to.startsWith(userId))).length >= 60
    })
    await Promise.all(senders.map((sender) => sender.close()))
    const own = sent.filter((to) => userIds.some((userId) => to.startsWith(userId)))
    expect([own.length, new Set(own).size]).toEqual([60, 60])
  })

  test('that claim at the same moment get different mails, and wait for no lock of another', async () => {
    const userIds: string[] = []
    for (let index = 0; index < 40; index += 1) {
      const userId = await world.server.createUser(`${world.username}-${index}`, PASSWORD)
      await addNotice(userId)
      userIds.push(userId)
    }
    const holder = new Client({ connectionString: world.server.config.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from security_mails where user_id = $1 for update', [userIds[0]])
    const claimed: string[] = []
    while (claimed.length < 39) {
      const batches = await Promise.all(Array.from({ length: 8 }, () => world.store.claim(2)))
      claimed.push(...batches.flat().map(({ userId }) => userId))
    }
    await holder.query('rollback')
    await holder.end()
    expect(claimed.toSorted()).toEqual(userIds.slice(1).toSorted())
  })

  test('never have the same mail: a claim ends after minutes, and its process can remove nothing then', async () => {
    await world.holdMails()
    await addNotice()
    await world.makeDue()
    const stopped = await claimOwn()
    expect((await world.store.claim(100)).map(({ userId }) => userId)).not.toContain(world.userId)
    await world.endClaim()
    const other = await claimOwn()
    expect([other.notices, other.claim === stopped.claim]).toEqual([stopped.notices, false])
    await world.store.finish(stopped)
    await world.store.postpone(stopped)
    expect(await world.queued()).toMatchObject({ isWaiting: true, failures: 0, notices: [{}] })
    await world.store.finish(other)
    expect(await world.queued()).toMatchObject({ isWaiting: false, notices: [] })
  })
})

describe('a process that stops', () => {
  test('before the mail server has the mail loses none', async () => {
    await world.holdMails()
    await addNotice()
    await world.makeDue()
    await claimOwn()
    await world.sendDue()
    expect(world.mails()).toEqual([])
    await world.endClaim()
    await world.sendDue()
    expect(world.mails()).toHaveLength(1)
  })

  test('after the mail server has the mail has it sent once more, with the same Message-ID', async () => {
    await world.holdMails()
    await addNotice()
    await world.makeDue()
    const finish = world.store.finish
    world.store.finish = async () => {
      throw new Error('stopped')
    }
    await world.sendDue()
    world.store.finish = finish
    await world.sendDue()
    expect(world.mails()).toHaveLength(1)
    await world.endClaim()
    await world.sendDue()
    await world.endClaim()
    await world.sendDue()
    const ids = world.mails().map(({ content }) => /^Message-ID: (.+)\r$/im.exec(content)?.[1])
    expect([ids.length, new Set(ids).size]).toEqual([2, 1])
  })
})

describe('the user', () => {
  async function noteAccess(): Promise<void> {
    await world.holdMails()
    await world.allow(await world.server.createClient())
    expect((await world.queued())?.notices).toHaveLength(1)
  }

  test('whose address is changed before the mail is sent gets it at the new one', async () => {
    await noteAccess()
    const earlier = world.address
    world.address = `new-${earlier}`
    await world.execute('update users set email = $1 where user_id = $2', world.address, world.userId)
    await world.makeDue()
    await world.sendDue()
    expect(world.mails().map(({ to }) => to)).toEqual([[world.address]])
  })

  test.each([
    { state: 'disabled', change: 'update users set disabled_at = now() where user_id = $1' },
    { state: 'without an address', change: 'update users set email = null where user_id = $1' }
  ])('who is $state when the mail is due gets none, and nothing waits', async ({ change }) => {
    await noteAccess()
    await world.execute(change, world.userId)
    await world.makeDue()
    await world.sendDue()
    expect([world.mails(), (await world.queued())?.isWaiting]).toEqual([[], false])
  })

  test('who is deleted gets none, and no row is left', async () => {
    await noteAccess()
    await world.execute('delete from users where user_id = $1', world.userId)
    await world.sendDue()
    expect([world.mails(), await world.queued()]).toEqual([[], undefined])
    expect(await world.execute('select from told_accesses where user_id = $1', world.userId)).toEqual([])
  })

  const accessNotice = (clientId: string) =>
    ({ kind: 'access', clientId, name: '', verified: false, audience: 'a', scope: [], browser: '' }) as const

  test('who is deleted while an access is noted, gets none', async () => {
    const { clientId } = await world.server.createClient()
    const notice = accessNotice(clientId)
    const access = { userId: randomUUID(), authorizationGeneration: 0, language: 'en', notice }
    expect(await world.store.noteAccess(access)).toBe(false)
    const gone = { ...access, userId: world.userId, notice: { ...notice, clientId: 'deleted' } }
    expect(await world.store.noteAccess(gone)).toBe(false)
  })

  test('is noted once by 20 concurrent Allows of one app', async () => {
    const { clientId } = await world.server.createClient()
    const notice = accessNotice(clientId)
    const access = { userId: world.userId, authorizationGeneration: 3, language: 'en', notice }
    await world.holdMails()
    const noted = await Promise.all(Array.from({ length: 20 }, () => world.store.noteAccess(access)))
    expect(noted.filter((isNoted) => isNoted)).toHaveLength(1)
    expect((await world.queued())?.notices).toHaveLength(1)
  })
})

describe('the queue', () => {
  test('keeps 20 changes of a user and the number of the others, and what comes while a mail is sent', async () => {
    await world.holdMails()
    await Promise.all(Array.from({ length: 1_000 }, () => addNotice()))
    expect(await world.queued()).toMatchObject({ omitted: 980, notices: { length: 20 } })
    await world.makeDue()
    const mail = await claimOwn()
    await addNotice()
    await world.store.finish(mail)
    expect(await world.queued()).toMatchObject({ omitted: 1, notices: [], isWaiting: true })
    await world.makeDue()
    await world.sendDue()
    expect(world.mails()[0]?.content).toContain('1 more change is not listed')
    expect(await world.queued()).toMatchObject({ omitted: 0, isWaiting: false })
  })

  test('keeps changes that come while a mail is sent, in their order', async () => {
    await world.holdMails()
    await addNotice()
    await world.makeDue()
    const mail = await claimOwn()
    await world.execute(`select add_security_notice($1, 'en', '{"kind":"passkey_added"}')`, world.userId)
    await addNotice()
    await world.store.finish(mail)
    expect((await world.queued())?.notices.map(({ kind }) => kind)).toEqual(['passkey_added', 'password_changed'])
  })

  test('waits longer after each failure: 1, 2, 4 … minutes, at most an hour', async () => {
    await world.holdMails()
    await addNotice()
    const minutes: number[] = []
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await world.makeDue()
      await world.store.postpone(await claimOwn())
      const [row] = await world.execute<{ minutes: number }>(
        `select round(extract(epoch from next_mail_at - now()) / 60)::integer as minutes from security_mails
          where user_id = $1`,
        world.userId
      )
      minutes.push(row?.minutes ?? 0)
    }
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60])
  })

  test('drops a mail after three days, and no earlier', async () => {
    await world.holdMails()
    await addNotice()
    const age = (time: string) =>
      world.execute(
        `update security_mails set waiting_since = now() - interval '${time}' where user_id = $1`,
        world.userId
      )
    await age('71 hours')
    expect((await world.store.dropOld()).dropped).toBe(0)
    await age('73 hours')
    await world.makeDue()
    expect(await world.store.claim(100)).toEqual([])
    expect(await world.store.dropOld()).toEqual({ dropped: 1, isFull: false })
    expect(await world.queued()).toMatchObject({ notices: [], isWaiting: false })
    await addNotice()
    expect((await world.queued())?.notices).toHaveLength(1)
  })
})
