import { setTimeout as sleep } from 'node:timers/promises'
import type { Mailer } from '../../platform/mail/mailer.js'
import type { ComposedMail } from './compose-mail.js'
import type { ClaimedMail, SecurityMailStore } from './security-mail-store.js'

export type MailSender = {
  /** Sends what is due now, in the background. */
  wake(): void
  /** Attempts of this process, by their result. */
  attempts(): { sent: number; failed: number }
  /** Waits for the mails that are being sent, and stops. */
  close(): Promise<void>
}

type MailSenderDeps = {
  store: Pick<SecurityMailStore, 'claim' | 'finish' | 'postpone'>
  mailer: Mailer
  /** Reads the texts of a batch. @returns a function that composes each of its mails */
  prepare: () => Promise<(mail: ClaimedMail) => ComposedMail>
  /** Without the address and the text. */
  onFailure: (failure: { userId?: string; reason?: string; error?: unknown }) => void
  /** The longest time of one attempt, below that after which another process takes the mail over. */
  limitMs?: number
}

const LOOK_EVERY_MS = 5_000
const AT_ONCE = 10
const LIMIT_MS = 60_000

/**
 * Sends the mails of the queue, several at once. No statement and no lock is held while the mail server works. If every mail of a
 * batch fails, the next batch waits for the next look: the mail server is probably unavailable.
 */
export function startMailSender({ store, mailer, prepare, onFailure, limitMs = LIMIT_MS }: MailSenderDeps): MailSender {
  const attempts = { sent: 0, failed: 0 }
  let closed = false
  let wanted = false
  let running: Promise<void> | undefined
  const timer = setInterval(wake, LOOK_EVERY_MS).unref()

  function wake(): void {
    wanted = true
    if (closed) return
    running ??= sendWanted()
      .catch((error: unknown) => onFailure({ error }))
      .finally(() => {
        running = undefined
        // Called between the last look and here.
        if (wanted) wake()
      })
  }

  async function sendWanted(): Promise<void> {
    while (wanted && !closed) {
      wanted = false
      if (await sendBatch()) wanted = true
    }
  }

  /** @returns whether more mails are likely to be due */
  async function sendBatch(): Promise<boolean> {
    const compose = await prepare()
    const batch = await store.claim(AT_ONCE)
    const outcomes = await Promise.all(batch.map((mail) => send(mail, compose)))
    return batch.length === AT_ONCE && outcomes.includes(true)
  }

  /** @returns whether the mail is settled */
  async function send(mail: ClaimedMail, compose: (mail: ClaimedMail) => ComposedMail): Promise<boolean> {
    const { userId, email } = mail
    try {
      const reason = email === undefined ? undefined : await problemOf({ to: email, ...compose(mail) })
      if (reason === undefined) {
        if (email !== undefined) attempts.sent += 1
        await store.finish(mail)
        return true
      }
      attempts.failed += 1
      onFailure({ userId, reason })
      await store.postpone(mail)
    } catch (error) {
      // The claim ends by itself, and the mail is sent again.
      onFailure({ userId, error })
    }
    return false
  }

  /** A server that sends a byte now and then would keep the connection open without end. */
  async function problemOf(mail: Parameters<Mailer>[0]): Promise<string | undefined> {
    const late = new AbortController()
    const reason = `the mail server took more than ${limitMs / 1000} seconds`
    const limit = sleep(limitMs, reason, { ref: false, signal: late.signal }).catch(() => undefined)
    try {
      return await Promise.race([mailer(mail), limit])
    } finally {
      late.abort()
    }
  }

  return {
    wake,
    attempts: () => ({ ...attempts }),
    async close() {
      closed = true
      clearInterval(timer)
      await running
    }
  }
}
