import type { FastifyRequest } from 'fastify'
import type { FormOwner } from '../csrf/csrf-token.js'
import { stepUrl } from '../pending-requests/pending-request.js'
import { stepQuery } from './sign-in-request.js'
import type { FormOnPage, FormWay } from './sign-in-ways.js'

/** What the view shows without another form. Each member is present, because templates are strict. */
const NO_FORM = { passkeyOptions: '', passkeyOptionsUrl: '', passkeyAction: '' }

/** What the sign-in page shows and loads for the forms beside the password. */
export function showForms(
  forms: readonly FormWay[],
  owner: FormOwner,
  request: FastifyRequest,
  { issuer }: { issuer: string }
): FormOnPage {
  const shown = forms.map(({ id, onPage }) =>
    onPage(owner, {
      options: `${issuer}/login/${id}/options`,
      action: stepUrl(issuer, `/login/${id}`, stepQuery(request))
    })
  )
  return {
    scripts: shown.flatMap(({ scripts }) => scripts),
    content: Object.assign({ ...NO_FORM }, ...shown.map(({ content }) => content))
  }
}
