const SHORTEST = 300
const LONGEST = 86_400
const DEFAULT = 3_600
/** Long enough for the steps of one request. */
const NOT_STORED = 60

/**
 * Seconds in which a document is used without another fetch (draft-ietf-oauth-client-id-metadata-document-02 §5.2). Every step
 * of a request needs the document, so even one that must not be stored is kept for a minute.
 */
export function freshSeconds(cacheControl: string | undefined): number {
  const directives = (cacheControl ?? '')
    .toLowerCase()
    .split(',')
    .map((directive) => directive.trim())
  if (directives.includes('no-store') || directives.some((directive) => /^private(?:=|$)/.test(directive))) {
    return NOT_STORED
  }
  const age = directives.map((directive) => /^max-age="?([0-9]{1,10})"?$/.exec(directive)?.[1]).find((text) => text)
  if (age === undefined) return directives.includes('no-cache') ? SHORTEST : DEFAULT
  return Math.min(LONGEST, Math.max(SHORTEST, Number(age)))
}
