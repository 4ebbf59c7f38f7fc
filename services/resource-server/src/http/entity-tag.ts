import { hash } from 'node:crypto'
import type { onSendHookHandler } from 'fastify'

/** A strong entity tag: the hash of the response body (RFC 9110 §8.8.3). */
export function entityTagOf(body: string): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 27)}"`
}

/** If-None-Match, by weak comparison (RFC 9110 §13.1.2): a proxy that compresses may have made the tag weak. */
export function matchesEntityTag(ifNoneMatch: string, entityTag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true
  const tags = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
  return tags.some((tag) => tag.replace(/^W\//, '') === entityTag)
}

/** onSend: adds an entity tag to a 200 response, and turns it into a 304 if the tag matches (RFC 9110 §15.4.5). */
export const addEntityTag: onSendHookHandler = (request, reply, payload, done) => {
  if (reply.statusCode !== 200 || typeof payload !== 'string') return done(null, payload)
  const entityTag = entityTagOf(payload)
  reply.header('etag', entityTag)
  const { 'if-none-match': ifNoneMatch } = request.headers
  if (ifNoneMatch === undefined || !matchesEntityTag(ifNoneMatch, entityTag)) return done(null, payload)
  reply.code(304).removeHeader('content-type').removeHeader('content-length')
  return done(null, null)
}
