import type { FormParameters } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { formOf } from '../../../platform/request-parts.js'
import { type Provider, pathOfProvider } from './provider.js'

const PARAMETERS = ['code', 'state', 'iss', 'error']
/** With a longer query, the browser's next request could exceed what servers accept. */
const MAX_LENGTH = 8_000

/**
 * `POST /login/with/<id>/callback`: an authorization response as a form (OAuth 2.0 Form Post Response Mode). The form comes from
 * another site, so browsers send no `SameSite=Lax` cookie with it. They do with the GET that follows, which decides everything.
 * This route is not with the pages: it must neither set nor replace a cookie.
 */
export const formPostRoutes: FastifyPluginAsync<{ issuer: string; providers: readonly Provider[] }> = async (
  forms,
  { issuer, providers }
) => {
  for (const { settings } of providers) {
    const path = `${pathOfProvider(settings)}/callback`
    forms.post(path, async (request, reply) => {
      const query = queryOf(formOf(request))
      reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
      return reply.redirect(`${issuer}${path}${query.length > MAX_LENGTH ? '' : `?${query}`}`, 303)
    })
  }
}

/** A repeated parameter stays repeated, so that the callback refuses it. */
function queryOf(form: FormParameters): string {
  const query = new URLSearchParams()
  for (const name of PARAMETERS) {
    const value = form.get(name)
    const values = value === undefined ? [] : [value]
    for (const each of form.isRepeated(name) ? ['', ''] : values) query.append(name, each)
  }
  return query.toString()
}
