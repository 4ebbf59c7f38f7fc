import { isSameResource } from '@valetkey/oauth-protocol'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { AdministrationError } from './administration-error.js'

export type RegisteredApis = { resourceServers: Pick<ResourceServerStore, 'list'> }

/**
 * The resource identifier, as registered, of the API that an operator names by the name or the identifier of a resource server.
 * @throws {AdministrationError} also if credentials of several APIs have that name
 */
export async function findAudience(given: string, { resourceServers }: RegisteredApis): Promise<string> {
  const registered = (await resourceServers.list()).map(({ resourceServer }) => resourceServer)
  const identified = registered.find(({ audience }) => isSameResource(audience, given))
  if (identified !== undefined) return identified.audience
  const named = new Set(registered.filter(({ name }) => name === given).map(({ audience }) => audience))
  const [audience] = named
  if (audience === undefined) {
    throw new AdministrationError(
      'invalid',
      `there is no resource server with the name or audience ${JSON.stringify(given)} (see valetkey resource-servers list)`
    )
  }
  if (named.size > 1) {
    throw new AdministrationError('invalid', `several APIs are named ${JSON.stringify(given)}: pass the audience`)
  }
  return audience
}
