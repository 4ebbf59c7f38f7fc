import { decryptText, encryptText } from '../../platform/encryption/encrypt-text.js'

const PURPOSE = 'valetkey redirect of a consent form'

/** Encrypts the redirect with the code. Only the form has the key, so read access to the store reveals no code. */
export function encryptRedirect(location: string, answerKey: string): Buffer {
  return encryptText(location, answerKey, PURPOSE)
}

/** @returns undefined for the key of another form */
export function decryptRedirect(encrypted: Buffer, answerKey: string): string | undefined {
  try {
    return decryptText(encrypted, answerKey, PURPOSE)
  } catch {
    return undefined
  }
}
