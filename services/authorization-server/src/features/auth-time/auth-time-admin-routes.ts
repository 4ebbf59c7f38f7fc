import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, text } from '../../operator/http/response-schemas.js'
import { type AuthTimeAdministration, readAuthTime, setAuthTime } from './administer-auth-time.js'

type Params = { Params: { client_id: string } }

const params = object({ client_id: text('The client id of any credential of the API.') })
const authTime = {
  type: 'boolean',
  description: 'Whether introspection has auth_time, the time when the user signed in (RFC 9470).'
} as const
const response = {
  200: jsonResponse(
    'For all credentials of the API.',
    object({ client_id: text('The client id.'), audience: text('The resource identifier.'), auth_time: authTime })
  ),
  ...problemResponses
}

const readSchema = {
  operationId: 'getAuthTime',
  summary: 'Get whether introspection says when the user signed in',
  params,
  response
}
const setSchema = {
  operationId: 'setAuthTime',
  summary: 'Set whether introspection says when the user signed in',
  params,
  body: object({ auth_time: authTime }),
  response
}

/** `/admin/resource-servers/{client_id}/auth-time` */
export const authTimeRoutes: FastifyPluginAsync<AuthTimeAdministration> = async (admin, deps) => {
  admin.get<Params>('/resource-servers/:client_id/auth-time', { schema: readSchema }, async ({ params }) =>
    readAuthTime(params.client_id, deps)
  )

  admin.put<Params & { Body: { auth_time: boolean } }>(
    '/resource-servers/:client_id/auth-time',
    { schema: setSchema },
    async (request) => {
      const command = { clientId: request.params.client_id, isMarked: request.body.auth_time }
      return setAuthTime(command, authorOf(request), deps)
    }
  )
}
