import { readUsableKeys } from '../../platform/clients/client-keys.js'
import { readKeyText } from '../../platform/clients/read-key-text.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'
import type { KeyProblem } from './app-key-page.js'

/** @property typed for the form that is shown again; without private keys */
type TypedKeys = { kind: 'keys'; keys: readonly StoredJwk[]; typed: string } | { kind: 'refused'; problem: KeyProblem }

/** A private key in PEM, or a member that each private or symmetric JWK has (RFC 7518 §6). */
const PRIVATE = /PRIVATE KEY|"(?:d|k)"/

/** Reads the keys of a form: a JWK, a JWK Set or PEM. The objections are those of the command line. */
export async function readTypedKeys(text: string): Promise<TypedKeys> {
  const typed = PRIVATE.test(text) ? '' : text
  if (text.trim() === '') return { kind: 'refused', problem: { message: { key: 'keys.missing' }, field: 'keys' } }
  const given = readKeyText(text)
  const read = given.kind === 'jwks' ? await readUsableKeys(given.jwks) : given
  if (read.kind === 'keys') return { ...read, typed }
  const place = given.kind === 'jwks' ? 'jwks' : 'the text'
  const problem = { message: { key: 'keys.unusable' }, objection: `${place} ${read.objection}`, typed: { keys: typed } }
  return { kind: 'refused', problem: { ...problem, field: 'keys' } }
}
