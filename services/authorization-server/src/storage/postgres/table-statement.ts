import { defineStatement, type Statement, type ValuesOf } from '@valetkey/service-kit'

/** Stands once in the text of a table statement, for the table of a bucket (`access-token-buckets.ts`). */
export const TABLE = 'access_tokens_of_bucket'

/** Defines a statement for each table of access tokens. Its text is read once for all tables; see `defineStatement`. */
export function defineTableStatement<const Text extends string>(
  name: string,
  text: Text
): (table: string, values: ValuesOf<Text>) => Statement {
  const statement = defineStatement(name, text)
  return (table, given) => {
    const { text: numbered, values } = statement(given)
    return { name: `${name}_in_${table}`, text: numbered.replace(TABLE, table), values }
  }
}
