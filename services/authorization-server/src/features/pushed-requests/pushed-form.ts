import { type FormParameters, parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const FORM = 'application/x-www-form-urlencoded'

/** A form, and the text of which it was read: what a browser would have sent as the query. */
type SentForm = FormParameters & { encoded: string }

/** Reads forms as the other endpoints of clients do, and keeps their text. Only for the routes of this scope. */
export function keepForms(scope: FastifyInstance): void {
  scope.removeContentTypeParser(FORM)
  scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, text, done) => {
    const encoded = String(text)
    const form: SentForm = { ...parseParameters(encoded), encoded }
    done(null, form)
  })
}

/** The text of the form; empty for a request without a body. */
export function encodedFormOf(request: FastifyRequest): string {
  return (request.body as SentForm | null | undefined)?.encoded ?? ''
}
