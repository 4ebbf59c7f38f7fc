import { createHash, createHmac } from 'node:crypto'

/** What another system does with a password before it hashes it: written in braces before the hash. */
const PREPARATIONS: Readonly<Record<string, (password: string, inner: string) => string>> = {
  nfkc: (password) => password.normalize('NFKC'),
  'md5-hex': (password) => createHash('md5').update(password).digest('hex'),
  'sha1-hex': (password) => createHash('sha1').update(password).digest('hex'),
  'sha256-hex': (password) => createHash('sha256').update(password).digest('hex'),
  'sha512-hex': (password) => createHash('sha512').update(password).digest('hex'),
  'sha256-base64': (password) => createHash('sha256').update(password).digest('base64'),
  'sha384-base64': (password) => createHash('sha384').update(password).digest('base64'),
  'sha512-base64': (password) => createHash('sha512').update(password).digest('base64'),
  // passlib's bcrypt_sha256: the key is the text of the salt of bcrypt, after `$2b$12$`.
  'salted-sha256-base64': (password, inner) =>
    createHmac('sha256', inner.slice(7, 29)).update(password).digest('base64'),
  'wordpress-sha384': (password) => createHmac('sha384', 'wp-sha384').update(password).digest('base64')
}

export const PREPARATION_NAMES: readonly string[] = Object.keys(PREPARATIONS)

/** @returns undefined if the text does not begin with the name of a preparation in braces */
export function splitPreparation(text: string): { name: string; inner: string } | undefined {
  const [, name = '', inner = ''] = /^\{([a-z0-9-]+)\}(\$.*)$/s.exec(text) ?? []
  return Object.hasOwn(PREPARATIONS, name) ? { name, inner } : undefined
}

/** @throws {Error} for a name that `splitPreparation` does not know */
export function prepareWith({ name, inner }: { name: string; inner: string }, password: string): string {
  const prepare = PREPARATIONS[name]
  if (prepare === undefined) throw new Error('a stored password hash has an unknown preparation')
  return prepare(password, inner)
}
