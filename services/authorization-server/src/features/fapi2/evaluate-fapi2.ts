import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import { pointsMissing } from '../../operator/use-cases/client-profile.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { Api } from '../../storage/postgres/resource-servers.js'

const CHECK = 'PROFILE'
/** Clients that are named one by one. */
const MOST_NAMED = 10

type Settings = Pick<Config, 'profile' | 'dpop' | 'pushedRequests'>

/** Each point that a client, an API or the server lacks for the profile. */
export function evaluateFapi2(
  settings: Settings,
  apis: readonly Api[],
  registered: readonly ClientRegistration[]
): readonly Finding[] {
  const clients = registered.filter(({ disabled }) => !disabled)
  const isOfServer = settings.profile === 'fapi2'
  const under = clients.filter(({ profile }) => profile === 'fapi2')
  if (!isOfServer && under.length === 0) return [ok(CHECK, 'is none, and no client is under a profile')]
  const findings = [
    ...missingOfServer(settings),
    ...(isOfServer ? missingOfClients(clients.filter(({ profile }) => profile !== 'fapi2')) : []),
    ...missingOfApis(apis, under)
  ]
  if (findings.length > 0) return findings
  return [ok(CHECK, `is ${settings.profile}; nothing is missing for ${under.length} clients under fapi2`)]
}

/** With `PROFILE=fapi2` the start is refused instead. */
function missingOfServer({ dpop, pushedRequests }: Settings): readonly Finding[] {
  const off = [...(dpop === 'off' ? ['DPOP'] : []), ...(pushedRequests === 'off' ? ['PUSHED_REQUESTS'] : [])]
  return off.map((setting) =>
    warning(CHECK, {
      what: `clients are under fapi2, and ${setting} is off`,
      why: 'They cannot get tokens.',
      fix: `set ${setting} to allowed`
    })
  )
}

function missingOfClients(others: readonly ClientRegistration[]): readonly Finding[] {
  const named = others.slice(0, MOST_NAMED).map((client) =>
    warning(CHECK, {
      what: `is fapi2, and client ${client.clientId} is not under it: ${pointsMissing(client).join('; ') || 'profile must be fapi2'}`,
      why: 'The server refuses its requests.',
      fix: `valetkey clients update ${client.clientId} --profile fapi2 --jwks FILE, or disable it`
    })
  )
  const rest = others.length - named.length
  if (rest === 0) return named
  const last = warning(CHECK, {
    what: `is fapi2, and ${rest} more clients are not under it`,
    why: 'The server refuses their requests.',
    fix: 'valetkey clients list'
  })
  return [...named, last]
}

function missingOfApis(apis: readonly Api[], under: readonly ClientRegistration[]): readonly Finding[] {
  const unmarked = apis.filter(({ dpop }) => dpop === undefined).map(({ audience }) => audience)
  const limited = under.every(({ audiences }) => audiences !== undefined)
  const needed = unmarked.filter(
    (audience) => !limited || under.some(({ audiences = [] }) => audiences.includes(audience))
  )
  return needed.map((audience) =>
    warning(CHECK, {
      what: `clients are under fapi2, and the API ${audience} is not marked for DPoP`,
      why: 'It cannot be used by them: they get no bearer tokens.',
      fix: 'valetkey resource-servers update CLIENT_ID --dpop allowed, if the API checks proofs'
    })
  )
}
