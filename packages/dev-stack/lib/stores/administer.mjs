import pg from 'pg'

/**
 * Runs statements one after the other.
 * @param {string} url
 * @param {...string} statements
 * @returns {Promise<Record<string, any>[]>} the rows of the last
 */
export async function administer(url, ...statements) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    /** @type {Record<string, any>[]} */
    let rows = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}
