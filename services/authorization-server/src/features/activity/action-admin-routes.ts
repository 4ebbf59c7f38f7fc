import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, text } from '../../operator/http/response-schemas.js'
import { type ActionAdministration, changeActions, readActions } from './administer-actions.js'

type Params = { Params: { client_id: string } }
type GivenAction = { name: string; title: string; translations?: Record<string, string> }

const params = object({ client_id: text('The client id of any credential of the API.') })
const members = {
  name: text('As the API reports it.'),
  title: text('For users, before a number: “Listed files”.'),
  translations: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'The title by language tag, such as de.'
  }
} as const
const response = {
  200: jsonResponse(
    'For all credentials of the API.',
    object({
      client_id: text('The client id.'),
      audience: text('The resource identifier.'),
      actions: { type: 'array', items: object(members) }
    })
  ),
  ...problemResponses
}

const readSchema = {
  operationId: 'getActions',
  summary: 'Get the actions that an API reports of apps',
  params,
  response
}
const setSchema = {
  operationId: 'setActions',
  summary: 'Replace the actions that an API reports of apps',
  params,
  body: object({ actions: { type: 'array', items: object(members, ['translations']) } }),
  response
}

/** `/admin/resource-servers/{client_id}/actions` */
export const actionRoutes: FastifyPluginAsync<ActionAdministration> = async (admin, deps) => {
  admin.get<Params>('/resource-servers/:client_id/actions', { schema: readSchema }, async ({ params }) =>
    readActions(params.client_id, deps)
  )

  admin.put<Params & { Body: { actions: GivenAction[] } }>(
    '/resource-servers/:client_id/actions',
    { schema: setSchema },
    async (request) => {
      const actions = request.body.actions.map(({ name, title, translations = {} }) => ({ name, title, translations }))
      return changeActions(request.params.client_id, () => actions, authorOf(request), deps)
    }
  )
}
