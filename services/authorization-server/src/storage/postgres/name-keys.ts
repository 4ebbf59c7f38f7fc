import { type Database, defineStatement } from '@valetkey/service-kit'
import { NAME_KEY_VERSION, nameKeys, userNameKey } from '@valetkey/sign-in-rules'

/** The rows of one statement, so that it locks rows for a short time only. */
const BATCH = 1_000

/** Whether the key has been made by earlier rules. */
const isOutdated = <Key extends string>(key: Key) => `(${key} is null or not starts_with(${key}, :version))` as const

/**
 * Makes the keys of names that have none, or one of earlier rules: after a migration, and when the rules or their data have changed.
 * May run again and in several processes at once. A name that is changed meanwhile keeps the key of that change.
 */
export async function renewNameKeys(database: Database): Promise<void> {
  await renewUsers(database)
  await renewClients(database)
  await renewApps(database)
}

const findUsers = defineStatement(
  '',
  `select user_id, username from users
  where user_id > :after and ${isOutdated('name_key')} order by user_id limit ${BATCH}`
)

const changeUsers = defineStatement(
  '',
  `with given as (
    select user_id, key from unnest(:userIds::uuid[], :usernames::text[], :keys::text[]) as given (user_id, username, key)
    join users using (user_id, username) order by user_id for no key update of users)
  update users set name_key = given.key from given where users.user_id = given.user_id`
)

async function renewUsers(database: Database): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const statement = findUsers({ version: NAME_KEY_VERSION, after })
    const users = await database.query<{ user_id: string; username: string }>(statement)
    const last = users.at(-1)
    if (last === undefined) return
    after = last.user_id
    const userIds = users.map((user) => user.user_id)
    const usernames = users.map((user) => user.username)
    await database.query(changeUsers({ userIds, usernames, keys: usernames.map(userNameKey) }))
  }
}

type NamedClient = { client_id: string; name: string }

const findClients = defineStatement(
  '',
  `select client_id, name from clients
  where client_id > :after and exists (select from unnest(name_keys) key where ${isOutdated('key')})
  order by client_id limit ${BATCH}`
)

async function renewClients(database: Database): Promise<void> {
  let after = ''
  for (;;) {
    const clients = await database.query<NamedClient>(findClients({ version: NAME_KEY_VERSION, after }))
    const last = clients.at(-1)
    if (last === undefined) return
    after = last.client_id
    await database.query({
      name: '',
      text: `with given as (
          select c.client_id, given.keys
          from jsonb_to_recordset($1::jsonb) as given (client_id text, name text, keys text[])
          join clients c on c.client_id = given.client_id and c.name = given.name order by c.client_id for no key update of c)
        update clients set name_keys = given.keys from given where clients.client_id = given.client_id`,
      values: [JSON.stringify(clients.map((client) => ({ ...client, keys: nameKeys(client.name) })))]
    })
  }
}

const findApps = defineStatement(
  '',
  `select client_id, c.name, a.pending ->> 'name' as pending from developer_apps a join clients c using (client_id)
  where exists (select from app_names n where n.client_id = a.client_id and ${isOutdated('n.name_key')})
  order by c.created_at, client_id`
)

const changeApp = defineStatement(
  '',
  `with app as (select client_id from clients where client_id = :clientId for update),
  outdated as (
    delete from app_names n using app where n.client_id = app.client_id and ${isOutdated('n.name_key')} returning n.client_id)
  insert into app_names (name_key, client_id, is_shared)
  select distinct key, :clientId, exists (select from app_names n where n.name_key = key and not n.is_shared)
  from unnest(:keys::text[]) key
  where exists (select from outdated)
    and not exists (select from app_names n where n.name_key = key and n.client_id = :clientId)`
)

/** One statement for each app: the next one sees which keys are taken. */
async function renewApps(database: Database): Promise<void> {
  const version = NAME_KEY_VERSION
  const apps = await database.query<NamedClient & { pending: string | null }>(findApps({ version }))
  for (const { client_id: clientId, name, pending } of apps) {
    const keys = [...nameKeys(name), ...nameKeys(pending ?? name)]
    await database.query(changeApp({ version, clientId, keys }))
  }
}
