import type { TokenHash } from '@valetkey/oauth-protocol'
import { type Database, isUniqueViolation } from '@valetkey/service-kit'
import { type AuditNote, defineChange } from './audited.js'

/** `read`: every GET. `revoke-users`: global token revocation. */
export const OPERATOR_PURPOSES = ['read', 'revoke-users'] as const

export type OperatorPurpose = (typeof OPERATOR_PURPOSES)[number]

export type OperatorKey = {
  operatorKeyId: string
  name: string
  /** The only thing that the key may do; undefined: everything. */
  purpose: OperatorPurpose | undefined
  createdAt: Date
  /** The key that created it, whose revocation also revokes this one; undefined if the command line created it. */
  createdBy: string | undefined
  /** Accurate to one minute. */
  lastUsedAt: Date | undefined
  revokedAt: Date | undefined
}

type NewOperatorKey = Pick<OperatorKey, 'operatorKeyId' | 'name' | 'createdBy'> & {
  purpose?: OperatorPurpose | undefined
}

type OperatorKeyRow = {
  operator_key_id: string
  name: string
  purpose: OperatorPurpose | null
  created_at: Date
  created_by: string | null
  last_used_at: Date | null
  revoked_at: Date | null
}

const COLUMNS = 'operator_key_id, name, purpose, created_at, created_by, last_used_at, revoked_at'

export function createOperatorKeyStore(database: Database) {
  return { ...findKeys(database), ...changeKeys(database) }
}

export type OperatorKeyStore = ReturnType<typeof createOperatorKeyStore>

function findKeys(database: Database) {
  return {
    /** All keys, including revoked ones; oldest first. */
    async list(): Promise<OperatorKey[]> {
      const rows = await database.query<OperatorKeyRow>({
        name: 'list_operator_keys',
        text: `select ${COLUMNS} from operator_keys order by created_at, operator_key_id`,
        values: []
      })
      return rows.map(toOperatorKey)
    },

    async find(operatorKeyId: string): Promise<OperatorKey | undefined> {
      const rows = await database.query<OperatorKeyRow>({
        name: 'find_operator_key',
        text: `select ${COLUMNS} from operator_keys where operator_key_id = $1`,
        values: [operatorKeyId]
      })
      return rows.map(toOperatorKey)[0]
    },

    /** Finds a key for authentication, revoked or not, and stores the time of use, at most once a minute. */
    async use(hash: TokenHash): Promise<OperatorKey | undefined> {
      const rows = await database.query<OperatorKeyRow>({
        name: 'use_operator_key',
        text: `with found as (select ${COLUMNS} from operator_keys where key_hash = $1),
          used as (
            update operator_keys k set last_used_at = now() from found
            where k.operator_key_id = found.operator_key_id and found.revoked_at is null
              and (found.last_used_at is null or found.last_used_at <= now() - interval '1 minute')
          )
          select ${COLUMNS} from found`,
        values: [hash]
      })
      return rows.map(toOperatorKey)[0]
    }
  }
}

// The lock lasts until the new key is committed: a concurrent revocation of the creator waits, and then revokes both.
const createKey = defineChange(
  'create_operator_key',
  `creator as (
    select operator_key_id from operator_keys where operator_key_id = :createdBy and revoked_at is null for share),
  changed as (
    insert into operator_keys (operator_key_id, name, purpose, key_hash, created_at, created_by)
    select :operatorKeyId::uuid, :name::text, :purpose::text, :hash::bytea, now(), :createdBy::uuid
    where :createdBy::uuid is null or exists (select 1 from creator)
    returning ${COLUMNS})`,
  { result: `select ${COLUMNS} from changed` }
)

const revokeKey = defineChange(
  'revoke_operator_key',
  `changed as (select ${COLUMNS} from revoke_operator_keys(:operatorKeyId))`,
  {
    details: `jsonb_build_object('alsoRevoked', (select count(*) - 1 from changed))`,
    result: `select ${COLUMNS}, (select count(*) - 1 from changed)::integer as also_revoked
      from changed where operator_key_id = :operatorKeyId`
  }
)

function changeKeys(database: Database) {
  return {
    /**
     * Creates a key, unless a live key has the name, or the creating key is revoked before or at the same time.
     * @returns the new key, or the reason why there is none
     */
    async create(
      { operatorKeyId, name, purpose, createdBy }: NewOperatorKey,
      hash: TokenHash,
      note: AuditNote
    ): Promise<OperatorKey | 'name_taken' | 'creator_revoked'> {
      try {
        const rows = await database.query<OperatorKeyRow>(
          createKey({ operatorKeyId, name, purpose, hash, createdBy }, note)
        )
        return rows.map(toOperatorKey)[0] ?? 'creator_revoked'
      } catch (error) {
        if (isUniqueViolation(error)) return 'name_taken'
        throw error
      }
    },

    /**
     * Revokes a key and all keys that were created with it, directly or indirectly.
     * @returns the revoked key, and how many others were revoked; undefined if there is no live key with that id
     */
    async revoke(
      operatorKeyId: string,
      note: AuditNote
    ): Promise<{ key: OperatorKey; alsoRevoked: number } | undefined> {
      const rows = await database.query<OperatorKeyRow & { also_revoked: number }>(revokeKey({ operatorKeyId }, note))
      return rows.map((row) => ({ key: toOperatorKey(row), alsoRevoked: row.also_revoked }))[0]
    }
  }
}

function toOperatorKey(row: OperatorKeyRow): OperatorKey {
  return {
    operatorKeyId: row.operator_key_id,
    name: row.name,
    purpose: row.purpose ?? undefined,
    createdAt: row.created_at,
    createdBy: row.created_by ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined
  }
}
