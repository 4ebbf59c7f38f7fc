import type { FastifyReply } from 'fastify'

const POLICY = 'content-security-policy'

const DIRECTIVES = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'"
]

/** The headers lack `Cache-Control`, which responses have that are no pages, too. */
export const SECURITY_HEADERS = {
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  [POLICY]: DIRECTIVES.join('; ')
} as const

/**
 * Headers of every page, as contract §2 lists them. `nosniff` is set for all responses of a listener by the service kit.
 * `Referrer-Policy` is not `no-referrer`, because browsers would then send `Origin: null` with our own forms.
 */
export function setSecurityHeaders(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store').headers(SECURITY_HEADERS)
}

/** The header of all responses of an https issuer, also those that are no pages. */
export const STRICT_TRANSPORT_SECURITY = { 'strict-transport-security': 'max-age=31536000' } as const

/**
 * Removes `form-action` for a page whose form can end in a redirect to a client. Browsers apply it also to every redirect that
 * follows, and the client decides where its callback redirects to (ADR 0010).
 */
export function omitFormAction(reply: FastifyReply): void {
  amendPolicy(reply, "form-action 'self'; ", '')
}

/** Allows the forms of a page to end at these targets, too: browsers apply `form-action` also to redirects after a form. */
export function allowForms(reply: FastifyReply, targets: readonly string[]): void {
  amendPolicy(reply, "form-action 'self'", ["form-action 'self'", ...targets].join(' '))
}

/** Scripts of a page with a password field. */
export const PASSWORD_SCRIPTS: readonly string[] = ['show-password.js', 'busy-button.js']

/** Scripts of a page with values to copy. */
export const COPY_SCRIPTS: readonly string[] = ['copy-button.js']

/** Allows a page to load scripts from `/assets/…`. Inline scripts remain forbidden. */
export function allowScripts(reply: FastifyReply): void {
  amendPolicy(reply, "default-src 'none'; style-src", "default-src 'none'; script-src 'self'; style-src")
}

/** Allows the scripts of a page to send requests to this service. */
export function allowRequests(reply: FastifyReply): void {
  amendPolicy(reply, "style-src 'self'", "connect-src 'self'; style-src 'self'")
}

/** Keeps what other functions have allowed for the page. */
function amendPolicy(reply: FastifyReply, directive: string, amended: string): void {
  reply.header(
    POLICY,
    String(reply.getHeader(POLICY)).replace(directive, () => amended)
  )
}
