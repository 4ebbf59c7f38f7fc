// The only table of the floor: one statement for each request, or one for all concurrent requests.
import { coalesce } from './coalesce.mjs'

const INSERT = `insert into floor_tokens (token_hash, client_id, user_id, scope, issued_at, expires_at)
  values ($1, $2, $3, $4, now(), now() + interval '1 hour')`
const INSERT_MANY = `insert into floor_tokens (token_hash, client_id, user_id, scope, issued_at, expires_at)
  select token_hash, client_id, user_id, scope, now(), now() + interval '1 hour'
  from unnest($1::bytea[], $2::text[], $3::uuid[], $4::text[]) as new (token_hash, client_id, user_id, scope)`

const COLUMNS = `client_id, user_id, scope, extract(epoch from issued_at)::int as iat,
  extract(epoch from expires_at)::int as exp`
const FIND = `select ${COLUMNS} from floor_tokens where token_hash = $1 and expires_at > now() and revoked_at is null`
const FIND_MANY = `select token_hash, ${COLUMNS} from floor_tokens
  where token_hash = any ($1::bytea[]) and expires_at > now() and revoked_at is null`

export function oneByOne(database) {
  return {
    insert: ({ hash, clientId, userId, scope }) =>
      database.query({ name: 'insert', text: INSERT, values: [hash, clientId, userId, scope] }),
    async find(hash) {
      const { rows } = await database.query({ name: 'find', text: FIND, values: [hash] })
      return rows[0]
    }
  }
}

export function coalesced(database) {
  return {
    insert: coalesce(async (tokens) => {
      const values = [
        encodeHashes(tokens.map(({ hash }) => hash)),
        array(tokens.map(({ clientId }) => clientId)),
        array(tokens.map(({ userId }) => userId)),
        array(tokens.map(({ scope }) => scope))
      ]
      await database.query({ name: 'insert-many', text: INSERT_MANY, values })
      return []
    }),
    find: coalesce(async (hashes) => {
      const { rows } = await database.query({ name: 'find-many', text: FIND_MANY, values: [encodeHashes(hashes)] })
      const found = new Map(rows.map((row) => [row.token_hash.toString('latin1'), row]))
      return hashes.map((hash) => found.get(hash.toString('latin1')))
    })
  }
}

// Written as text, because pg would check every value for characters to escape. Hexadecimal has none.
const array = (words) => `{${words.join()}}`
const encodeHashes = (hashes) => array(hashes.map((hash) => `"\\\\x${hash.toString('hex')}"`))
