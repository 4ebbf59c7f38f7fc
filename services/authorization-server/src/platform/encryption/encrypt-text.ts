import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text (AES-256-GCM) with a key derived from a secret. If the store has only the hash of the secret, or nothing of it,
 * it cannot decrypt the text.
 * @param secret of at least 256 random bits
 * @param purpose separates the keys of different uses
 */
export function encryptText(text: string, secret: string, purpose: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, purpose), nonce)
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** @throws if the secret or the purpose differs, or the encrypted text was changed */
export function decryptText(encrypted: Buffer, secret: string, purpose: string): string {
  const nonce = encrypted.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret, purpose), nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(encrypted.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const content = encrypted.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8')
}

function keyOf(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
}
