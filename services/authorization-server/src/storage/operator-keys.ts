import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited, createAudited } from './audited.js'

export type OperatorKey = {
  operatorKeyId: string
  name: string
  createdAt: Date
  /** To within a minute. */
  lastUsedAt: Date | undefined
  revokedAt: Date | undefined
}

type OperatorKeyRow = {
  operator_key_id: string
  name: string
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}

const COLUMNS = 'operator_key_id, name, created_at, last_used_at, revoked_at'

export function createOperatorKeyStore(database: Database) {
  return {
    /** @returns false when a live key has the name */
    async create(
      key: Pick<OperatorKey, 'operatorKeyId' | 'name' | 'createdAt'>,
      digest: TokenDigest,
      note: AuditNote
    ): Promise<boolean> {
      const change = {
        name: 'create_operator_key',
        parts: `changed as (
          insert into operator_keys (operator_key_id, name, key_hash, created_at) values ($1, $2, $3, $4)
          returning operator_key_id)`,
        result: 'select operator_key_id from changed',
        values: [key.operatorKeyId, key.name, digest, key.createdAt]
      }
      return createAudited(database, change, note)
    },

    /** All there ever were, the oldest first. */
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

    /** For authentication: finds a key, revoked or not, and notes that it was used, at most once a minute. */
    async use(digest: TokenDigest, now: Date): Promise<OperatorKey | undefined> {
      const rows = await database.query<OperatorKeyRow>({
        name: 'use_operator_key',
        text: `with found as (select ${COLUMNS} from operator_keys where key_hash = $1),
          used as (
            update operator_keys k set last_used_at = $2 from found
            where k.operator_key_id = found.operator_key_id and found.revoked_at is null
              and (found.last_used_at is null or found.last_used_at <= $2::timestamptz - interval '1 minute')
          )
          select ${COLUMNS} from found`,
        values: [digest, now]
      })
      return rows.map(toOperatorKey)[0]
    },

    /** @returns the key as it is then; undefined when there is no live one of that id */
    async revoke(operatorKeyId: string, now: Date, note: AuditNote): Promise<OperatorKey | undefined> {
      const change = {
        name: 'revoke_operator_key',
        parts: `changed as (
          update operator_keys set revoked_at = $2 where operator_key_id = $1 and revoked_at is null returning ${COLUMNS})`,
        result: `select ${COLUMNS} from changed`,
        values: [operatorKeyId, now]
      }
      return (await database.query<OperatorKeyRow>(audited(change, note))).map(toOperatorKey)[0]
    }
  }
}

export type OperatorKeyStore = ReturnType<typeof createOperatorKeyStore>

function toOperatorKey(row: OperatorKeyRow): OperatorKey {
  return {
    operatorKeyId: row.operator_key_id,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined
  }
}
