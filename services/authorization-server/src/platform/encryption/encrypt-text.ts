import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text (AES-256-GCM) with a key that only the holder of a secret can derive. Where the secret is stored as a
 * hash or not at all, the store can make nothing of the text.
 * @param secret of at least 256 random bits
 * @param purpose keeps the keys of different uses apart
 */
export function encryptText(text: string, secret: string, purpose: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, purpose), nonce)
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** @throws when the secret or the purpose is another, or the text was changed */
export function openText(sealed: Buffer, secret: string, purpose: string): string {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret, purpose), nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const encrypted = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8')
}

function keyOf(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
}
