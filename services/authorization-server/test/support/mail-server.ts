import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** A mail server that keeps what it receives. */
export async function startMailServer() {
  const mails: { to: string[]; content: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address)
        mails.push({ to, content: decoded(Buffer.concat(chunks).toString('utf8')) })
        done()
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

/** The line ends and signs of quoted-printable (RFC 2045 §6.7), as far as ASCII goes. */
function decoded(content: string): string {
  return content
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
