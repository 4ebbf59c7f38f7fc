import { isSameResource } from '@valetkey/oauth-protocol'
import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { ApiState } from '../../storage/postgres/registry-state.js'
import { named } from './evaluate-clients.js'

/** Whether each scope has an API, and each API a scope. @param defaultAudience `RESOURCE_URL` */
export function evaluateApis({ scopes, audiences }: ApiState, defaultAudience: string): readonly Finding[] {
  const audienceOf = (scope: ApiState['scopes'][number]) => scope.audience ?? defaultAudience
  const orphans = scopes.filter((scope) => !audiences.some((audience) => isSameResource(audience, audienceOf(scope))))
  const bare = audiences.filter((audience) => !scopes.some((scope) => isSameResource(audience, audienceOf(scope))))
  return [
    orphans.length === 0
      ? ok('APIs of scopes', `all ${scopes.length} scopes have an API with a credential`)
      : warning('APIs of scopes', {
          what: `scopes of an API without a credential: ${named(orphans.map(({ name }) => name))}`,
          why: 'No API can introspect tokens with these scopes.',
          fix: 'valetkey resource-servers create --audience with the audience that valetkey scopes list shows'
        }),
    bare.length === 0
      ? ok('scopes of APIs', `all ${audiences.length} APIs have a scope`)
      : warning('scopes of APIs', {
          what: `APIs without a scope: ${named(bare)}`,
          why: 'No client can request a token for them.',
          fix: 'valetkey scopes create NAME --resource AUDIENCE, or scopes update'
        })
  ]
}
