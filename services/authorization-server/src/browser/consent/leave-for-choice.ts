import type { FormParameters } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { END_FIELD } from '../../platform/access-ends.js'
import { formOf } from '../../platform/request-parts.js'
import type { Selections } from '../../platform/selections.js'
import { clientQuery, type PendingAuthorizationRequest, stepUrl } from '../pending-requests/pending-request.js'
import { type ConsentQuestion, sortScopes } from './consent-view.js'
import { unregisteredApp } from './unregistered-app.js'

/** Keeps the form, and sends the browser to the page of the API. */
export async function leaveForChoice(
  { pending, question }: { pending: PendingAuthorizationRequest; question: ConsentQuestion },
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, selections }: { issuer: string; selections: Selections | undefined }
): Promise<FastifyReply> {
  if (selections === undefined) throw new Error('nothing can be chosen at APIs')
  const { client, request: asked, selectingScope: scope = '' } = question
  const { userId, hash } = pending
  // The name that the consent page shows.
  const name = unregisteredApp(client, asked.redirectUri)?.clientIdHost ?? client.name
  const url = await selections.begin({
    pending: { userId, hash },
    client: { clientId: client.clientId, name },
    audience: asked.audience,
    scope,
    language: request.language.tag,
    returnTo: stepUrl(issuer, '/consent', clientQuery(request), { resume: pending.id }),
    draft: draftOf(formOf(request), question)
  })
  return reply.redirect(url, 303)
}

/** The ticked boxes and the chosen end. With a choice for it, the scope is wanted, so its box is ticked. */
function draftOf(form: FormParameters, question: ConsentQuestion): string {
  const draft = new URLSearchParams()
  for (const name of sortScopes(question).optional) {
    if (name === question.selectingScope || form.get(`scope.${name}`) === 'on') draft.set(`scope.${name}`, 'on')
  }
  const end = form.get(END_FIELD)
  if (end !== undefined && end.length <= 50) draft.set(END_FIELD, end)
  return draft.toString()
}
