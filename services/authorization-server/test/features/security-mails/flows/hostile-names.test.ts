import { expect, test } from '@jest/globals'
import { mailingServer } from '../support/mailing-server.js'

const world = mailingServer()

test.each([
  { what: 'a line break and a header', name: 'A\r\nBcc: eve@evil.example\r\n\r\nhttps://evil.example' },
  { what: 'a link', name: 'Sign in at https://evil.example/login' },
  { what: 'a host', name: 'www.evil.example' },
  { what: 'a dot of another script', name: 'evil。example' },
  { what: 'controls of the text direction', name: '\u202eelpmaxe.live\u202c' },
  { what: 'braces of message formats', name: "{name} {count, plural, other {#}} '" }
])('an app with $what in its name and publisher gets no header and no link into the mail', async ({ name }) => {
  const client = await world.server.createClient({ name, branding: { publisher: name } })
  await world.allow(client)
  const [mail] = await world.received(1)
  const [header = '', ...rest] = (mail?.content ?? '').split('\r\n\r\n')
  const text = rest.join('\r\n\r\n')
  expect(mail?.to).toEqual([world.address])
  expect(header).toMatch(/^Subject: An app has access to your Valetkey account\r$/m)
  expect(header).not.toMatch(/evil|^Bcc/im)
  expect(text).not.toMatch(/evil[.。]|\/\/evil|[\u202a-\u202e]/)
  expect(text.match(/https?:\/\/[^\s]+/g)).toEqual([
    `${world.server.config.issuer}/account/apps/end?client_id=${client.clientId}`
  ])
})

test('a user name with an address is shown as it is, because the user knows it', async () => {
  await world.execute('update users set username = $1 where user_id = $2', 'bob@example.com', world.userId)
  await world.allow(await world.server.createClient())
  expect((await world.received(1))[0]?.content).toContain('Account: bob@example.com')
})

test.each(['eve@evil.example, bob@example.com', 'bob', 'a@b\r\nBcc: eve@evil.example'])(
  'the stored address %j gets nothing, and its mail waits',
  async (email) => {
    await world.holdMails()
    await world.allow(await world.server.createClient())
    await world.execute('update users set email = $1 where user_id = $2', email, world.userId)
    await world.makeDue()
    await world.sendDue()
    expect(world.mails()).toEqual([])
    expect(await world.queued()).toMatchObject({ isWaiting: true, failures: 1 })
  }
)
