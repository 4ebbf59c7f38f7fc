import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import {
  createUser,
  deleteUser,
  disableUser,
  enableUser,
  findUser,
  listUsers,
  type NewUser,
  setPassword,
  type UserAdministration,
  userDocument
} from '../use-cases/administer-users.js'
import { authorOf } from './authenticate-operator.js'
import * as schemas from './user-schemas.js'

type OfUser = { Params: { user_id: string } }

/** `/admin/users` */
export const userRoutes: FastifyPluginAsync<UserAdministration> = async (admin, deps) => {
  admin.get<{ Querystring: Page }>('/users', { schema: schemas.listUsers }, async ({ query }) => {
    const { entries, next } = await listUsers(query, deps)
    return { users: entries.map(userDocument), next }
  })

  admin.post<{ Body: NewUser }>('/users', { schema: schemas.createUser }, async (request, reply) => {
    const user = await createUser(request.body, authorOf(request), deps)
    reply.code(201)
    return userDocument(user)
  })

  admin.get<OfUser>('/users/:user_id', { schema: schemas.findUser }, async ({ params }) =>
    userDocument(await findUser(params.user_id, deps))
  )

  admin.delete<OfUser>('/users/:user_id', { schema: schemas.deleteUser }, async (request) =>
    userDocument(await deleteUser(request.params.user_id, authorOf(request), deps))
  )

  admin.post<OfUser>('/users/:user_id/disable', { schema: schemas.disableUser }, async (request) =>
    userDocument(await disableUser(request.params.user_id, authorOf(request), deps))
  )

  admin.post<OfUser>('/users/:user_id/enable', { schema: schemas.enableUser }, async (request) =>
    userDocument(await enableUser(request.params.user_id, authorOf(request), deps))
  )

  admin.put<OfUser & { Body: { password: string } }>(
    '/users/:user_id/password',
    { schema: schemas.setPassword },
    async (request) => {
      const command = { userId: request.params.user_id, password: request.body.password }
      return userDocument(await setPassword(command, authorOf(request), deps))
    }
  )
}
