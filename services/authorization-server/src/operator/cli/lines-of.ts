import { open } from 'node:fs/promises'
import { decodeText } from '@valetkey/service-kit'
import { CommandFailure } from './exit.js'

const MOST_CHARACTERS = 64 * 1024

/**
 * The lines of a file, as they are read.
 * @param record what a line has, for messages
 * @throws {CommandFailure} if the file cannot be read or is not UTF-8, or a line is so long that it is no such record
 */
export async function* linesOf(file: string, record: string): AsyncGenerator<string> {
  const handle = await open(file).catch(() => {
    throw new CommandFailure('usage', `the file ${file} cannot be read`)
  })
  // Drops a byte order mark. Other encodings are refused, because they would change names.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes?: Uint8Array): string => {
    try {
      // In UTF-16, Latin letters have bytes that are zero.
      if (!bytes?.includes(0)) return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      // The bytes are examined below.
    }
    const decoded = decodeText(bytes ?? Uint8Array.of())
    const problem = 'problem' in decoded ? decoded.problem : 'is not UTF-8: a character is not complete'
    throw new CommandFailure('usage', `the file ${file}, after line ${line}, ${problem}`)
  }
  let rest = ''
  let line = 0
  for await (const chunk of handle.createReadStream()) {
    const lines = `${rest}${decode(chunk)}`.split('\n')
    rest = lines.pop() ?? ''
    line += lines.length
    if (rest.length > MOST_CHARACTERS)
      throw new CommandFailure('usage', `line ${line + 1} is too long to be a ${record}`)
    yield* lines
  }
  rest += decode()
  if (rest !== '') yield rest
}
