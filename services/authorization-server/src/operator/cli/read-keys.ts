import { createReadStream } from 'node:fs'
import { readKeyText } from '../../platform/clients/read-key-text.js'
import type { JwkSet } from '../../storage/postgres/client-keys.js'
import { CommandFailure } from './exit.js'
import { readSecret } from './read-secret.js'

/** Characters; 8 RSA keys with certificates have less. */
const MAX_BYTES = 256 * 1024

/** Reads the file of `--jwks`. @returns undefined without the option */
export async function readKeysFile(file: string | undefined): Promise<JwkSet | undefined> {
  if (file === undefined) return undefined
  const chunks: Buffer[] = []
  try {
    for await (const chunk of createReadStream(file, { end: MAX_BYTES })) chunks.push(chunk)
  } catch {
    throw new CommandFailure('usage', `the keys ${file} cannot be read; pass the path of a file`)
  }
  const bytes = Buffer.concat(chunks)
  if (bytes.length > MAX_BYTES) throw new CommandFailure('usage', `the file ${file} is larger than ${MAX_BYTES} bytes`)
  return parseKeys(bytes.toString(), `the file ${file}`)
}

/** Reads `--jwks-stdin`. */
export async function readKeysFromStdin(stdin: NodeJS.ReadableStream): Promise<JwkSet> {
  return parseKeys(await readSecret(stdin, 'keys', MAX_BYTES), 'standard input')
}

function parseKeys(text: string, place: string): JwkSet {
  const read = readKeyText(text)
  if (read.kind === 'refused') throw new CommandFailure('usage', `${place} ${read.objection}`)
  return read.jwks
}
