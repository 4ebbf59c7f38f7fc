import { type Database, defineStatement } from '@valetkey/service-kit'
import { type AuditNote, createAudited, defineChange, makeAudited } from './audited.js'
import { AUTHORIZED, BY_GENERATIONS } from './authorization-generation.js'
import { GRANT_EXPIRES_AT } from './grant-expires-at.js'

export type ScopeTranslation = { title?: string; description?: string }

/** An entry of the scope catalogue, with the texts of the consent page. */
export type Scope = {
  name: string
  title: string
  description: string
  /** The translations by language tag. */
  translations: Readonly<Record<string, ScopeTranslation>>
  builtIn: boolean
  /** Resource identifier of the API that it belongs to; undefined for the default API. */
  audience: string | undefined
  /** Requested by a request without `scope`. */
  isDefault: boolean
  /** May be requested by clients that no operator registered. */
  isDiscoverable: boolean
  /** Users may choose it for apps that they register. */
  isSelfService: boolean
  /** Gives access only to what the user chooses at the API. At most one scope of each API (ADR 0062). */
  selects: boolean
}

/** @property number greater than that of every scope that was created, or moved to another API, before (ADR 0041) */
export type NumberedScope = Scope & { number: number }

/** The catalogue, for callers that do not compare it with what users allowed. */
export type ScopeList = { list(): Promise<readonly Scope[]> }

/** `version` changes with every change of the scope. */
export type ScopeInUse = {
  scope: Scope
  version: string
  /** Clients that are registered for the scope, and those of them that have no other scope. */
  clientIds: readonly string[]
  onlyScopeOf: readonly string[]
}

/** Live grants that have the scope, among those that were read. */
export type GrantsWithScope = { grants: number; users: number; isComplete: boolean }

type ScopeRow = {
  name: string
  title: string
  description: string
  translations: Record<string, ScopeTranslation>
  built_in: boolean
  audience: string | null
  is_default: boolean
  is_discoverable: boolean
  is_self_service: boolean
  selects: boolean
  number: number
}

const COLUMNS =
  'name, title, description, translations, built_in, audience, is_default, is_discoverable, is_self_service, selects, number'

export function createScopeStore(database: Database) {
  return { ...findScopes(database), ...changeScopes(database), ...removeScopes(database) }
}

export type ScopeStore = ReturnType<typeof createScopeStore>

function findScopes(database: Database) {
  return {
    async list(): Promise<readonly NumberedScope[]> {
      const rows = await database.query<ScopeRow>({
        name: 'list_scopes',
        text: `select ${COLUMNS} from scopes order by built_in desc, name`,
        values: []
      })
      return rows.map(toScope)
    },

    async findInUse(name: string): Promise<ScopeInUse | undefined> {
      const rows = await database.query<ScopeRow & { version: string; client_ids: string[]; only_scope_of: string[] }>({
        name: 'find_scope_in_use',
        text: `with users as (
            select client_id, required_scopes || optional_scopes as scopes from clients
            where $1 = any (required_scopes) or $1 = any (optional_scopes)
          )
          select ${COLUMNS}, xmin::text as version,
            array(select client_id from users order by client_id) as client_ids,
            array(select client_id from users where scopes <@ array[$1]::text[] order by client_id) as only_scope_of
          from scopes where name = $1`,
        values: [name]
      })
      return rows.map((row) => ({
        scope: toScope(row),
        version: row.version,
        clientIds: row.client_ids,
        onlyScopeOf: row.only_scope_of
      }))[0]
    },

    async countGrants(name: string): Promise<GrantsWithScope> {
      const rows = await database.query<{ grants: number; users: number; is_complete: boolean }>(
        countGrantsWithScope({ name })
      )
      const [{ grants = 0, users = 0, is_complete: isComplete = true } = {}] = rows
      return { grants, users, isComplete }
    }
  }
}

/** As many grants as are read within a second. */
export const MOST_GRANTS_READ = 100_000

const countGrantsWithScope = defineStatement(
  'count_grants_with_scope',
  `with live as (
    select g.user_id, :name = any (g.scope) and g.newest_scope >= s.number as has_it
    from scopes s cross join grants g ${BY_GENERATIONS}
    where s.name = :name and ${AUTHORIZED} and g.redeemed_at is not null and g.ended_at is null and ${GRANT_EXPIRES_AT} > now()
      and g.client_id = any (array(
        select client_id from clients
        where :name = any (required_scopes) or :name = any (optional_scopes) or origin = 'discovered'))
    limit ${MOST_GRANTS_READ + 1})
  select count(*) filter (where has_it)::integer as grants,
    count(distinct user_id) filter (where has_it)::integer as users,
    count(*) <= ${MOST_GRANTS_READ} as is_complete
  from live`
)

const createScope = defineChange(
  'create_scope',
  `changed as (
    insert into scopes (name, title, description, translations, audience, is_default, is_discoverable, is_self_service, selects)
    values (:name, :title, :description, :translations, :audience, :isDefault, :isDiscoverable, :isSelfService, :selects)
    returning name)`
)

const updateScope = defineChange(
  'update_scope',
  `changed as (
    update scopes set title = :title, description = :description, translations = :translations, audience = :audience,
      is_default = :isDefault, is_discoverable = :isDiscoverable, is_self_service = :isSelfService, selects = :selects
    where name = :name and xmin = :version::xid returning name)`
)

function changeScopes(database: Database) {
  return {
    /** @returns false if a scope with that name exists */
    async create(scope: Omit<Scope, 'builtIn'>, note: AuditNote): Promise<boolean> {
      return (await createAudited(database, createScope(valuesOf(scope), note))).length > 0
    },

    /** @returns false if the scope has changed since that version was read, or another scope of its API selects since */
    async update(scope: Omit<Scope, 'builtIn'>, version: string, note: AuditNote): Promise<boolean> {
      return (await createAudited(database, updateScope({ ...valuesOf(scope), version }, note))).length > 0
    }
  }
}

// Every statement that locks several clients locks them in the order of their ids, to prevent deadlocks.
const deleteScope = defineChange(
  'delete_scope',
  `locked as (
    select client_id, required_scopes || optional_scopes as scopes from clients
    where :name = any (required_scopes) or :name = any (optional_scopes) order by client_id for update),
  changed as (
    delete from scopes where name = :name and not built_in
      and not exists (select 1 from locked where not :isTakenFromClients or scopes <@ array[:name]::text[])
    returning name),
  narrowed as (
    update clients c set required_scopes = array_remove(c.required_scopes, :name),
      optional_scopes = array_remove(c.optional_scopes, :name)
    from locked, changed where c.client_id = locked.client_id)`
)

function removeScopes(database: Database) {
  return {
    /**
     * Deletes a scope that is not built in.
     * @param isTakenFromClients whether to remove it from the clients that are registered for it
     * @returns false if it does not exist, if it is in use and must not be removed from clients, or if it is the only scope of
     *   a client
     */
    async remove(name: string, isTakenFromClients: boolean, note: AuditNote): Promise<boolean> {
      return makeAudited(database, deleteScope({ name, isTakenFromClients }, note))
    },

    /** Removes a deleted scope from clients that were registered for it at the same time. */
    async takeFromClients(name: string): Promise<void> {
      await database.query({
        name: 'take_scope_from_clients',
        text: `with locked as (
            select client_id from clients
            where ($1 = any (required_scopes) or $1 = any (optional_scopes))
              and not exists (select 1 from scopes where name = $1)
            order by client_id for update)
          update clients c set required_scopes = array_remove(c.required_scopes, $1),
            optional_scopes = array_remove(c.optional_scopes, $1)
          from locked where c.client_id = locked.client_id`,
        values: [name]
      })
    }
  }
}

/** Parameters of `createScope` and `updateScope`. */
function valuesOf(scope: Omit<Scope, 'builtIn'>) {
  return { ...scope, translations: JSON.stringify(scope.translations) }
}

function toScope(row: ScopeRow): NumberedScope {
  return {
    name: row.name,
    title: row.title,
    description: row.description,
    translations: row.translations,
    builtIn: row.built_in,
    audience: row.audience ?? undefined,
    isDefault: row.is_default,
    isDiscoverable: row.is_discoverable,
    isSelfService: row.is_self_service,
    selects: row.selects,
    number: row.number
  }
}
