type Changes = Readonly<Record<string, { from?: unknown; to?: unknown }>>

/** The changed members of a document with old and new value, for the audit event. */
export function changesBetween(before: object, after: object): Changes {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const names = [...new Set([...from.keys(), ...to.keys()])]
  const changed = names.filter((name) => inOneOrder(from.get(name)) !== inOneOrder(to.get(name)))
  return Object.fromEntries(changed.map((name) => [name, { from: from.get(name), to: to.get(name) }]))
}

/** Returns JSON with sorted members: Postgres returns those of `jsonb` in an order of its own. */
function inOneOrder(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}
