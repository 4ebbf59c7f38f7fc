/** Characters (code points) of the name of a passkey. */
const PASSKEY_NAME_LENGTH = 60

// Control characters, and those that change the direction of the text that follows.
const UNWANTED = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** @returns the name that the user typed, as it is stored; undefined if it is empty or too long */
export function readPasskeyName(typed: string | undefined): string | undefined {
  const name = (typed ?? '').normalize('NFC').replace(/\s+/gu, ' ').replace(UNWANTED, '').trim()
  return name === '' || [...name].length > PASSKEY_NAME_LENGTH ? undefined : name
}
