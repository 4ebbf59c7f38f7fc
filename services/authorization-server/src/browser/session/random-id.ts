import { hash, randomBytes } from 'node:crypto'

const RANDOM_ID = /^[A-Za-z0-9_-]{43}$/

/** 256 random bits for a cookie or a form. */
export function newRandomId(): string {
  return randomBytes(32).toString('base64url')
}

export function isRandomId(value: string | undefined): value is string {
  return value !== undefined && RANDOM_ID.test(value)
}

/** Ids of sessions and pending authorization requests are stored as hashes only. */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url')
}
