/** Claims of an ID token, with those of UserInfo. */
export type Claims = Readonly<Record<string, unknown>>

/** The claim, but nothing that JavaScript objects inherit. */
export function ownClaim(claims: Claims, claim: string): unknown {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The values at a path of members with dots between them, such as `realm_access.roles`. A member may contain dots itself, as a
 * URL does: a whole name comes before a path. A list is entered: `roles.name` is the name of each element.
 */
export function claimsAt(claims: Claims, path: string): readonly unknown[] {
  if (Object.hasOwn(claims, path)) return [claims[path]]
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const inner = ownClaim(claims, path.slice(0, dot))
    const parts = (Array.isArray(inner) ? inner : [inner]).filter(isObject)
    const found = parts.flatMap((part) => claimsAt(part, path.slice(dot + 1)))
    if (found.length > 0) return found
  }
  return []
}

/** Both, also where they have different members of one object. Where both have a value, that of the ID token counts. */
export function mergeClaims(userInfo: Claims, idToken: Claims): Claims {
  const merged = new Map(Object.entries(userInfo))
  for (const [name, value] of Object.entries(idToken)) {
    const other = merged.get(name)
    merged.set(name, isObject(value) && isObject(other) ? mergeClaims(other, value) : value)
  }
  return Object.fromEntries(merged)
}
