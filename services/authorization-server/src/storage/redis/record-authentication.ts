/** Adds a message authentication code to records in Redis, so that write access to Redis alone grants nothing. */
export type RecordAuthentication = {
  /** @returns the record as it is stored under `key`: a MAC of 43 base64url characters, a space, the content */
  protect(key: string, content: string): string
  /** @returns the content; undefined when it was not written by a holder of the keys, or was written under another key */
  open(key: string, stored: string): string | undefined
}
