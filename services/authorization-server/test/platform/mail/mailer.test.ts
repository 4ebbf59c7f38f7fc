import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { SMTPServer } from 'smtp-server'
import { createMailer } from '../../../src/platform/mail/mailer.js'

let server: SMTPServer | undefined
let contents: string[]

afterEach(() => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve()))))

/** A mail server that answers each command with one of these errors. */
async function mailerWith(refusals: { sender?: number; recipient?: number; data?: number } = {}) {
  contents = []
  const refusal = (code: number | undefined) =>
    code === undefined ? undefined : Object.assign(new Error('refused'), { responseCode: code })
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom: (_address, _session, done) => done(refusal(refusals.sender)),
    onRcptTo: (_address, _session, done) => done(refusal(refusals.recipient)),
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        contents.push(Buffer.concat(chunks).toString('utf8'))
        done(refusal(refusals.data))
      })
    }
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return createMailer({
    smtpUrl: `smtp://127.0.0.1:${port}`,
    mailFrom: { name: 'Acme, Inc', address: 'a@example.com' }
  })
}

const MAIL = { to: 'bob@example.com', subject: 'Hello', text: 'Text', language: 'en' }

test('a mail that the server has taken has no problem, and is marked as automatic (RFC 3834 §5)', async () => {
  expect(await (await mailerWith())(MAIL)).toBeUndefined()
  expect(contents[0]).toMatch(/^Auto-Submitted: auto-generated\r$/im)
  expect(contents[0]).toMatch(/^From: "Acme, Inc" <a@example\.com>\r$/im)
  expect(contents[0]).toMatch(/^To: bob@example\.com\r$/im)
})

test.each([
  { name: 'the sender', refusals: { sender: 550 } },
  { name: 'the recipient', refusals: { recipient: 550 } },
  { name: 'the recipient for now', refusals: { recipient: 451 } },
  { name: 'the content', refusals: { data: 554 } }
])('a mail whose server refuses $name is not reported as sent', async ({ refusals }) => {
  const code = Object.values(refusals)[0]
  expect(await (await mailerWith(refusals))(MAIL)).toContain(`refused the mail`)
  expect(await (await mailerWith(refusals))(MAIL)).toContain(`reply ${code}`)
})

test.each(['bob@example.com, eve@example.com', 'Bob <bob@example.com>', 'bob', ''])(
  'the recipient %j, which is not one address, gets no mail',
  async (to) => {
    expect(await (await mailerWith())({ ...MAIL, to })).toBe('the e-mail address of the user is not valid')
    expect(contents).toEqual([])
  }
)
