// Creates the two databases, each with its own role. Neither role can connect to the other database.
import pg from 'pg'

export const databases = {
  authorization: { database: 'valetkey_authorization', role: 'valetkey_authorization' },
  files: { database: 'valetkey_files', role: 'valetkey_files' }
}

/**
 * Creates a database and its role, or updates the role's password.
 * @param {string} superuserUrl
 * @param {{ database: string, role: string }} names
 * @param {string} password
 */
export async function ensureDatabase(superuserUrl, { database, role }, password) {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const [databaseName, roleName] = [client.escapeIdentifier(database), client.escapeIdentifier(role)]
    const verb = (await exists(client, 'pg_roles', 'rolname', role)) ? 'ALTER' : 'CREATE'
    await client.query(`${verb} ROLE ${roleName} LOGIN PASSWORD ${client.escapeLiteral(password)}`)
    if (!(await exists(client, 'pg_database', 'datname', database))) {
      await client.query(
        `CREATE DATABASE ${databaseName} OWNER ${roleName} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`
      )
    }
    await client.query(`REVOKE ALL ON DATABASE ${databaseName}, postgres, template1 FROM PUBLIC`)
  } finally {
    await client.end()
  }
}

/**
 * @param {pg.Client} client
 * @param {string} table
 * @param {string} column
 * @param {string} value
 */
async function exists(client, table, column, value) {
  const { rowCount } = await client.query(`SELECT 1 FROM ${table} WHERE ${column} = $1`, [value])
  return rowCount === 1
}
