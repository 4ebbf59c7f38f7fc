/** Adds a message authentication code to records in Redis, so that write access to Redis alone grants nothing. */
export type RecordAuthentication = {
  /** @returns the record to store under `key`: a MAC of 43 base64url characters, a space, the content */
  protect(key: string, content: string): string
  /** @returns the content; undefined if it was written without our keys, or under another Redis key */
  open(key: string, stored: string): string | undefined
}
