/** One line for each member of a document; the members of an object in it, such as a pending change, begin with its name. */
export function linesOfDocument(document: object, prefix = ''): string[] {
  return Object.entries(document).flatMap(([name, value]): string[] => {
    if (Array.isArray(value)) return [`${prefix}${name}: ${value.map((each) => each.username ?? each).join(' ')}`]
    return typeof value === 'object' ? linesOfDocument(value, `${prefix}${name} `) : [`${prefix}${name}: ${value}`]
  })
}
