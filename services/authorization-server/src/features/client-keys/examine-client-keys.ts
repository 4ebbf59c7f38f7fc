import { type Database, type Finding, ok, warning } from '@valetkey/service-kit'

const CHECK = 'client keys'
const NAMED = 5
const DAY_MS = 86_400_000

type KeyState = {
  client_id: string
  jwks_uri: string | null
  keys: number
  unused_keys: number
  fetched_at: Date | null
}

const STATEMENT = `
  select c.client_id, c.jwks_uri, f.fetched_at,
    (select count(*)::int from client_keys k where k.client_id = c.client_id) as keys,
    (select count(*)::int from client_keys k where k.client_id = c.client_id
      and coalesce(k.last_used_at, k.created_at) < now() - interval '90 days') as unused_keys
  from clients c left join client_key_sets f on f.client_id = c.client_id and f.jwks_uri is not distinct from c.jwks_uri
  where c.private_key_jwt is not null and c.disabled_at is null and c.origin <> 'discovered'
  order by c.client_id`

/** Checks of `doctor`: whether the clients with keys can authenticate, and whether old keys are left. */
export async function examineClientKeys(database: Database, now: Date): Promise<readonly Finding[]> {
  const clients = await database.query<KeyState>({ name: 'read_client_key_states', text: STATEMENT, values: [] })
  const without = clients.filter(({ jwks_uri: uri, keys }) => uri === null && keys === 0)
  const isOld = (fetchedAt: Date | null) => fetchedAt !== null && now.getTime() - fetchedAt.getTime() > DAY_MS
  const unreachable = clients.filter(({ jwks_uri: uri, fetched_at: fetchedAt }) => uri !== null && isOld(fetchedAt))
  const unused = clients.filter(({ keys, unused_keys: count }) => keys > 1 && count > 0)
  const findings = [
    ...complaint(without, {
      what: 'clients with private_key_jwt and no key',
      why: 'They cannot authenticate.',
      fix: 'valetkey clients keys add CLIENT_ID --jwks FILE'
    }),
    ...complaint(unreachable, {
      what: 'clients whose jwks_uri has not been read for a day',
      why: 'Without a new copy, the keys cannot be used. The client may also be unused.',
      fix: 'look for client_keys_not_fetched in the log'
    }),
    ...complaint(unused, {
      what: 'clients with a key that was not used for 90 days beside another one',
      why: 'An unfinished rotation leaves the old key valid.',
      fix: 'valetkey clients keys remove CLIENT_ID KID'
    })
  ]
  return findings.length > 0 ? findings : [ok(CHECK, `no problem in ${clients.length} clients with keys`)]
}

function complaint(
  found: readonly KeyState[],
  { what, why, fix }: { what: string; why: string; fix: string }
): Finding[] {
  if (found.length === 0) return []
  const names = found.slice(0, NAMED).map(({ client_id: clientId }) => clientId)
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : ''
  return [warning(CHECK, { what: `${what}: ${names.join(', ')}${more}`, why, fix })]
}
