import { defineStatement, type Statement, type ValuesOf } from '@valetkey/service-kit'

/** Stands once in the text of a table statement, for the table of a bucket (`access-token-buckets.ts`). */
export const TABLE = 'access_tokens_of_bucket'

/** More than the tables that exist at one time. */
const MOST_TEXTS = 64

/** Defines a statement for each table of access tokens. Its text is read once for all tables; see `defineStatement`. */
export function defineTableStatement<const Text extends string>(
  name: string,
  text: Text
): (table: string, values: ValuesOf<Text>) => Statement {
  const statement = defineStatement(name, text)
  // A new text of some KB for each call would be a good part of an exchange (npm run bench:gates).
  const texts = new Map<string, { name: string; text: string }>()
  return (table, given) => {
    const { text: numbered, values } = statement(given)
    let known = texts.get(table)
    if (known === undefined) {
      if (texts.size === MOST_TEXTS) texts.clear()
      known = { name: `${name}_in_${table}`, text: numbered.replace(TABLE, table) }
      texts.set(table, known)
    }
    return { name: known.name, text: known.text, values }
  }
}
