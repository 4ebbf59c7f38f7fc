import type { FastifyRequest } from 'fastify'

/**
 * Whether the browser says that a form came from a page of ours. Old browsers and programs send neither header; the hidden field
 * of the form decides alone then.
 */
export function isOwnForm({ headers }: Pick<FastifyRequest, 'headers'>, resourceUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin') return false
  // A proxy that adds `Referrer-Policy: no-referrer` makes browsers send `null`.
  return origin === undefined || origin === new URL(resourceUrl).origin || (origin === 'null' && site === 'same-origin')
}
