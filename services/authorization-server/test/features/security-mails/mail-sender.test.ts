import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { type MailSender, startMailSender } from '../../../src/features/security-mails/mail-sender.js'
import type { ClaimedMail } from '../../../src/features/security-mails/security-mail-store.js'
import type { Mailer } from '../../../src/platform/mail/mailer.js'

const mailOf = (userId: string, email: string | undefined = `${userId}@example.com`): ClaimedMail => ({
  userId,
  claim: 'c',
  notices: [],
  omitted: 1,
  language: undefined,
  username: userId,
  email
})
const COMPOSED = { subject: '', text: '', language: 'en', messageId: '<1@example.com>' }

let sender: MailSender | undefined
afterEach(() => sender?.close())

/** A sender with these mails in the queue. */
function start(queue: ClaimedMail[], mailer: Mailer, change: Partial<Parameters<typeof startMailSender>[0]> = {}) {
  const calls: string[] = []
  const failures: unknown[] = []
  const started = startMailSender({
    store: {
      async claim(most) {
        calls.push('claim')
        return queue.splice(0, most)
      },
      finish: async ({ userId }) => void calls.push(`finish ${userId}`),
      postpone: async ({ userId }) => void calls.push(`postpone ${userId}`)
    },
    mailer,
    prepare: async () => () => COMPOSED,
    onFailure: (failure) => failures.push(failure),
    ...change
  })
  sender = started
  return { started, calls, failures }
}

describe('the sender', () => {
  test('finishes a mail after the mail server has taken it, and looks again only after a full batch', async () => {
    const { started, calls } = start(
      Array.from({ length: 11 }, (_, index) => mailOf(`u${index}`)),
      async () => undefined
    )
    started.wake()
    await started.close()
    expect(calls).toHaveLength(11)
    const more = start(
      Array.from({ length: 11 }, (_, index) => mailOf(`u${index}`)),
      async () => undefined
    )
    more.started.wake()
    while (more.calls.length < 13) await turn()
    await more.started.close()
    expect(more.calls.filter((call) => call === 'claim')).toHaveLength(2)
    expect(more.started.attempts()).toEqual({ sent: 11, failed: 0 })
  })

  test('keeps mails that the server refuses, and makes no second attempt at once', async () => {
    const queue = Array.from({ length: 30 }, (_, index) => mailOf(`u${index}`))
    const { started, calls, failures } = start(queue, async () => 'the mail server is away')
    started.wake()
    while (calls.length < 11) await turn()
    await started.close()
    expect([queue.length, calls.filter((call) => call.startsWith('postpone')).length]).toEqual([20, 10])
    expect(failures[0]).toEqual({ userId: 'u0', reason: 'the mail server is away' })
    expect(started.attempts()).toEqual({ sent: 0, failed: 10 })
  })

  test('sends nothing to a user without an address, and removes the mail', async () => {
    const sent: string[] = []
    const { started, calls } = start([{ ...mailOf('bob'), email: undefined }], async ({ to }) => {
      sent.push(to)
      return undefined
    })
    started.wake()
    await started.close()
    expect([sent, calls]).toEqual([[], ['claim', 'finish bob']])
    expect(started.attempts()).toEqual({ sent: 0, failed: 0 })
  })

  test('sends the other mails if one cannot be composed or finished', async () => {
    const sent: string[] = []
    const mailer: Mailer = async ({ to }) => {
      sent.push(to)
      return undefined
    }
    const prepare = async () => (mail: ClaimedMail) => {
      if (mail.userId === 'bad') throw new Error('no text')
      return COMPOSED
    }
    const { started, calls, failures } = start([mailOf('bad'), mailOf('good')], mailer, { prepare })
    started.wake()
    await started.close()
    expect([sent, calls]).toEqual([['good@example.com'], ['claim', 'finish good']])
    expect(failures).toEqual([{ userId: 'bad', error: expect.objectContaining({ message: 'no text' }) }])
  })

  test('gives up an attempt that lasts too long, and keeps the mail', async () => {
    const { started, calls, failures } = start([mailOf('bob')], () => new Promise(() => {}), { limitMs: 20 })
    started.wake()
    await started.close()
    expect(calls).toEqual(['claim', 'postpone bob'])
    expect(failures).toEqual([{ userId: 'bob', reason: 'the mail server took more than 0.02 seconds' }])
  })

  test('reports a failed claim, and claims again when it is woken', async () => {
    let fails = true
    const claim = async () => {
      if (fails) throw new Error('no connection')
      return []
    }
    const store = { claim, finish: async () => {}, postpone: async () => {} }
    const { started, failures } = start([], async () => undefined, { store })
    started.wake()
    while (failures.length < 1) await turn()
    fails = false
    started.wake()
    await started.close()
    expect(failures).toHaveLength(1)
  })

  test('waits at the stop for a mail that is being sent, and begins no other one', async () => {
    let answer = (_: undefined) => {}
    const mailer: Mailer = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const queue = [mailOf('first')]
    const { started, calls } = start(queue, mailer)
    started.wake()
    await turn()
    const closed = started.close()
    queue.push(mailOf('second'))
    started.wake()
    await turn()
    expect(calls).toEqual(['claim'])
    answer(undefined)
    await closed
    started.wake()
    await turn()
    expect(calls).toEqual(['claim', 'finish first'])
  })
})
