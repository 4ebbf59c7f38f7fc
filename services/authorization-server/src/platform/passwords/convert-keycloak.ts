import { pbkdf2Text, phcBase64, readBase64 } from './hash-text.js'

type Json = Record<string, unknown>

const DIGESTS: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512'
}

/** A credential of a Keycloak export: an object with `secretData` and `credentialData`, which are JSON texts or objects. */
export function convertKeycloak(text: string): string | undefined {
  const credential = objectOf(text)
  const secret = objectOf(credential?.secretData)
  const data = objectOf(credential?.credentialData)
  if (secret === undefined || data === undefined) return undefined
  const [salt, hash] = [secret.salt, secret.value].map((each) => readBase64(textOf(each)))
  const iterations = textOf(data.hashIterations)
  const algorithm = textOf(data.algorithm) ?? ''
  if (algorithm !== 'argon2') return pbkdf2Text({ digest: DIGESTS[algorithm], iterations, salt, hash })
  if (salt === undefined || hash === undefined) return undefined
  const more = objectOf(data.additionalParameters) ?? {}
  const [type, version, memory, lanes] = ['type', 'version', 'memory', 'parallelism'].map((name) => textOf(more[name]))
  const number = { '1.3': 19, '1.0': 16 }[version ?? ''] ?? version
  return `$argon2${type}$v=${number}$m=${memory},t=${iterations},p=${lanes}$${phcBase64(salt)}$${phcBase64(hash)}`
}

function objectOf(given: unknown): Json | undefined {
  try {
    const value: unknown = typeof given === 'string' && given.startsWith('{"') ? JSON.parse(given) : given
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** Additional parameters are lists with one text. */
function textOf(given: unknown): string | undefined {
  const [value] = Array.isArray(given) ? given : [given]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
