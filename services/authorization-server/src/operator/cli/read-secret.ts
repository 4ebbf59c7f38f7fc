import { decodeText } from '@valetkey/service-kit'
import { CommandFailure } from './exit.js'

const MAX_BYTES = 64 * 1024

/** Reads standard input to its end and drops one trailing line break: an argument would show the secret in the process list. */
export async function readSecret(
  stdin: NodeJS.ReadableStream,
  what: string,
  maxBytes: number = MAX_BYTES
): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > maxBytes) throw new CommandFailure('usage', `the ${what} on standard input is too long`)
    chunks.push(bytes)
  }
  const decoded = decodeText(Buffer.concat(chunks))
  if ('problem' in decoded) throw new CommandFailure('usage', `the ${what} on standard input ${decoded.problem}`)
  const secret = decoded.text.replace(/\r?\n$/, '')
  if (secret === '') throw new CommandFailure('usage', `the ${what} on standard input is empty`)
  return secret
}
