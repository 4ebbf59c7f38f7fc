import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/**
 * A mail server that keeps what it receives.
 * @param take called for each mail before the answer; if it throws, the mail is refused and not kept
 */
export async function startMailServer({ take = async () => {} }: { take?: () => Promise<void> } = {}) {
  const mails: { to: string[]; content: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address)
        const keep = () => mails.push({ to, content: decoded(Buffer.concat(chunks).toString('utf8')) })
        take().then(() => done(null, `kept ${keep()}`), done)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    close: () => new Promise<void>((resolve) => server.close(() => resolve()))
  }
}

/** The mail with its subject and text as a reader sees them (RFC 2045 §6, RFC 2047). One part, UTF-8. */
function decoded(content: string): string {
  const end = content.indexOf('\r\n\r\n')
  const [header, text] = [content.slice(0, end), content.slice(end + 4)]
  const isBase64 = /^content-transfer-encoding: base64/im.test(header)
  return `${decodedHeader(header)}\r\n\r\n${isBase64 ? fromBase64(text) : fromQuotedPrintable(text)}`
}

function decodedHeader(header: string): string {
  return header
    .replace(/\r\n[ \t]+/g, ' ')
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === 'B' ? fromBase64(text) : fromQuotedPrintable(text.replaceAll('_', ' '))
    )
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64').toString('utf8')

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
