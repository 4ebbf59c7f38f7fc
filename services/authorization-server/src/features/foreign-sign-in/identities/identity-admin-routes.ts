import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../../operator/http/authenticate-operator.js'
import { disableUser, userDocument } from '../../../operator/use-cases/administer-users.js'
import type { UserStore } from '../../../storage/postgres/users.js'
import {
  findUserByIdentity,
  type IdentityAdministration,
  identityDocument,
  linkIdentity,
  listIdentities,
  unlinkIdentity
} from './administer-identities.js'
import * as schemas from './identity-admin-schemas.js'
import type { IdentityKey } from './identity-store.js'

type OfUser = { Params: { user_id: string } }

const PATH = '/users/:user_id/identities'

/** `/admin/users/{user_id}/identities` and `/admin/users/disable` */
export const identityRoutes: FastifyPluginAsync<
  IdentityAdministration & { users: Pick<UserStore, 'disable'> }
> = async (admin, deps) => {
  admin.get<OfUser>(PATH, { schema: schemas.listIdentities }, async ({ params }) => {
    const identities = await listIdentities(params.user_id, deps)
    return { identities: identities.map(identityDocument) }
  })

  admin.post<OfUser & { Body: IdentityKey }>(PATH, { schema: schemas.linkIdentity }, async (request, reply) => {
    const identity = await linkIdentity(request.params.user_id, request.body, authorOf(request), deps)
    reply.code(201)
    return identityDocument(identity)
  })

  // The identity is in the query, because many programs and proxies drop the body of a DELETE.
  admin.delete<OfUser & { Querystring: IdentityKey }>(PATH, { schema: schemas.unlinkIdentity }, async (request) =>
    identityDocument(await unlinkIdentity(request.params.user_id, request.query, authorOf(request), deps))
  )

  admin.post<{ Body: IdentityKey }>('/users/disable', { schema: schemas.disableUserOfIdentity }, async (request) => {
    const { userId } = await findUserByIdentity(request.body, deps)
    return userDocument(await disableUser(userId, authorOf(request), deps))
  })
}
