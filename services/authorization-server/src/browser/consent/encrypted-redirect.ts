import { encryptText, openText } from '../../platform/encryption/encrypt-text.js'

const PURPOSE = 'valetkey redirect of a consent form'

/** Encrypts the redirect that carries a code with a key that only the form has: whoever reads the store learns no code. */
export function encryptRedirect(location: string, answerKey: string): Buffer {
  return encryptText(location, answerKey, PURPOSE)
}

/** @returns undefined for the key of another form */
export function openRedirect(sealed: Buffer, answerKey: string): string | undefined {
  try {
    return openText(sealed, answerKey, PURPOSE)
  } catch {
    return undefined
  }
}
