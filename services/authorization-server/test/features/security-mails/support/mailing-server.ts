import { afterAll, beforeAll, beforeEach, jest } from '@jest/globals'
import { composeMail } from '../../../../src/features/security-mails/compose-mail.js'
import { type MailSender, startMailSender } from '../../../../src/features/security-mails/mail-sender.js'
import {
  createSecurityMailStore,
  type SecurityMailStore
} from '../../../../src/features/security-mails/security-mail-store.js'
import { createMailer, type Mailer } from '../../../../src/platform/mail/mailer.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { obtainCode, PASSWORD } from '../../../support/flow.js'
import { startMailServer } from '../../../support/mail-server.js'

type Mails = Awaited<ReturnType<typeof startMailServer>>['mails']

type QueueRow = { notices: { kind: string }[]; omitted: number; isWaiting: boolean; failures: number }

export type MailingWorld = {
  server: TestServer
  store: SecurityMailStore
  /** The user of the present test. */
  username: string
  userId: string
  address: string
  /** Called before the mail server answers. */
  take: () => Promise<void>
  /** What the user of the present test has received. */
  mails(): Mails
  /** Waits until the user has received this number of mails. */
  received(count: number): Promise<Mails>
  allow(client: Credentials, browser?: Browser): Promise<string>
  /** The row of the user. */
  queued(): Promise<QueueRow | undefined>
  /** Waits until nothing of the user waits to be sent. */
  settled(): Promise<void>
  /** Makes the next mail of the user due, unless a process is sending one. */
  makeDue(): Promise<void>
  /** Lets other processes take over the mail of the user that a process has claimed. */
  endClaim(): Promise<void>
  /** A time in which no process sends a mail of the user. */
  holdMails(): Promise<void>
  /** Another process that sends. */
  newSender(mailer?: Mailer): MailSender
  /** Sends what is due, and waits for what the server is sending: an Allow wakes its sender. */
  sendDue(mailer?: Mailer): Promise<void>
  execute<Row extends Record<string, unknown>>(text: string, ...values: unknown[]): Promise<Row[]>
}

/**
 * A server with a mail server, and a new user with an address for each test.
 * @param looksForMails whether the server also looks by itself for mails to send; otherwise it sends after an Allow only
 */
export function mailingServer({ looksForMails = false } = {}): MailingWorld {
  const world = { take: async () => {} } as MailingWorld
  let mailServer: Awaited<ReturnType<typeof startMailServer>>
  let number = 0
  beforeAll(async () => {
    mailServer = await startMailServer({ take: () => world.take() })
    const settings = { SECURITY_MAILS: 'on', SMTP_URL: mailServer.url, MAIL_FROM: 'no-reply@example.com' }
    const looks = looksForMails ? undefined : stopLooking()
    world.server = await startTestServer(settings)
    looks?.mockRestore()
    world.store = createSecurityMailStore(world.server.database)
    for (const task of world.server.deps.features.flatMap(({ periodicTasks }) => periodicTasks ?? [])) await task()
    Object.assign(world, actionsOf(world, mailServer))
  })
  beforeEach(async () => {
    number += 1
    world.take = async () => {}
    await world.execute('delete from security_mails')
    world.username = `user-${number}`
    world.address = `user-${number}@example.com`
    world.userId = await world.server.createUser(world.username, PASSWORD)
    await world.execute('update users set email = $1 where user_id = $2', world.address, world.userId)
  })
  afterAll(async () => {
    await world.server.close()
    await mailServer.close()
  })
  return world
}

function stopLooking() {
  const { setInterval: start } = globalThis
  const once = ((...call: Parameters<typeof start>) => {
    const timer = start(...call)
    if (call[1] === 5_000) clearInterval(timer)
    return timer
  }) as typeof start
  return jest.spyOn(globalThis, 'setInterval').mockImplementation(once)
}

function actionsOf(world: MailingWorld, mailServer: { url: string; mails: Mails }): Partial<MailingWorld> {
  const { server, store } = world
  const mails = () => mailServer.mails.filter(({ to }) => to.includes(world.address))
  const execute: MailingWorld['execute'] = (text, ...values) => server.database.query({ name: '', text, values })
  const mailFrom = { name: '', address: 'no-reply@example.com' }

  function newSender(mailer = createMailer({ smtpUrl: mailServer.url, mailFrom })): MailSender {
    const { issuer, productName: product } = server.config
    const { languages } = server.deps.pages
    const texts = { issuer, product, helpUrl: undefined, languages, catalogue: [], apis: [] }
    const prepare = async () => (mail: Parameters<typeof composeMail>[0]) => composeMail(mail, texts)
    return startMailSender({ store, mailer, prepare, onFailure: () => {} })
  }

  /** Claims of senders that a test started, or stopped. */
  const ownClaims = new Set<string>()
  const { claim } = store
  store.claim = async (most) => {
    const mails = await claim(most)
    for (const mail of mails) ownClaims.add(mail.claim)
    return mails
  }

  async function isServerSending(): Promise<boolean> {
    const text = 'select claim from security_mails where user_id = $1'
    const [row] = await execute<{ claim: string | null }>(text, world.userId)
    const { claim: present = null } = row ?? {}
    return present !== null && !ownClaims.has(present)
  }

  const queued = async () => {
    const [row] = await execute<QueueRow>(
      `select notices, omitted, waiting_since is not null as "isWaiting", failures from security_mails where user_id = $1`,
      world.userId
    )
    return row
  }

  const setNextMail =
    (time: string, condition = 'true') =>
    async () =>
      void (await execute(
        `insert into security_mails as m (user_id, next_mail_at) values ($1, ${time})
        on conflict (user_id) do update set next_mail_at = excluded.next_mail_at where ${condition}`,
        world.userId
      ))

  return {
    mails,
    execute,
    queued,
    newSender,
    async received(count) {
      await until(async () => mails().length >= count)
      return mails()
    },
    allow: (client, browser) =>
      obtainCode(server, client, { username: world.username, ...(browser !== undefined && { browser }) }),
    settled: () => until(async () => (await queued())?.isWaiting === false),
    makeDue: setNextMail(`now() - interval '1 second'`, 'm.claim is null'),
    endClaim: setNextMail(`now() - interval '1 second'`),
    holdMails: setNextMail(`now() + interval '1 hour'`),
    async sendDue(mailer) {
      const sender = newSender(mailer)
      sender.wake()
      await sender.close()
      await until(async () => !(await isServerSending()))
    }
  }
}

/** The changes that these mails name, and those that they count. */
export function changesIn(mails: readonly { content: string }[]): number {
  const listed = mails.map(({ content }) => content.split('got access to your account').length - 1)
  const counted = mails.map(({ content }) =>
    Number(/(\d+) more changes? (?:is|are) not listed/.exec(content)?.[1] ?? 0)
  )
  return [...listed, ...counted].reduce((sum, each) => sum + each, 0)
}
