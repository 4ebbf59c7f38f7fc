import type { FastifyReply } from 'fastify'

/**
 * Headers of every page, as contract §2 lists them. `nosniff` is set for all responses of a listener by the service kit.
 * `Referrer-Policy` is not `no-referrer`, because browsers would then send `Origin: null` with our own forms.
 */
export function setSecurityHeaders(reply: FastifyReply): void {
  reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .header('x-frame-options', 'DENY')
    .header('content-security-policy', contentSecurityPolicy([]))
}

/** For all responses of an https issuer, also those that are no pages. */
export function setStrictTransportSecurity(reply: FastifyReply): void {
  reply.header('strict-transport-security', 'max-age=31536000')
}

/** Allows the forms of a page to end at these targets: browsers apply `form-action` also to redirects after a form. */
export function allowForms(reply: FastifyReply, targets: readonly string[]): void {
  reply.header('content-security-policy', contentSecurityPolicy(targets))
}

function contentSecurityPolicy(formTargets: readonly string[]): string {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ]
  return policy.join('; ')
}
