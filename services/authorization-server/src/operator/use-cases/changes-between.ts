type Changes = Readonly<Record<string, { from?: unknown; to?: unknown }>>

/** The changed members of a document with old and new value, for the audit event. */
export function changesBetween(before: object, after: object): Changes {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const names = [...new Set([...from.keys(), ...to.keys()])]
  const changed = names.filter((name) => JSON.stringify(from.get(name)) !== JSON.stringify(to.get(name)))
  return Object.fromEntries(changed.map((name) => [name, { from: from.get(name), to: to.get(name) }]))
}
