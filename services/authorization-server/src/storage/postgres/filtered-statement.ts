import { defineStatement, type Statement } from '@valetkey/service-kit'

/** A condition that applies if its parameter has a value. @property name what it adds to the name of the statement */
type Condition = { parameter: string; name: string; text: string }

/**
 * Defines one statement for each combination of conditions, so that Postgres can plan it with the matching index. Each is defined
 * at its first use.
 * @param textOf the text with the conditions, which begin with `and`
 */
export function defineFiltered(
  name: string,
  conditions: readonly Condition[],
  textOf: (conditions: string) => string
): (values: Readonly<Record<string, unknown>>) => Statement {
  const statements = new Map<string, (values: object) => Statement>()
  return (values) => {
    const given = conditions.filter(({ parameter }) => values[parameter] !== undefined)
    const fullName = [name, ...given.map((condition) => condition.name)].join('_')
    const known = statements.get(fullName)
    if (known !== undefined) return known(values)
    const statement = defineStatement<string>(fullName, textOf(given.map(({ text }) => `and ${text}`).join(' ')))
    statements.set(fullName, statement)
    return statement(values)
  }
}
