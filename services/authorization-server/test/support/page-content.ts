/** Everything on a page that leads, sends or loads anything: none of it may be an address that a stranger chose. */
export function addressesOn(html: string): string[] {
  const attributes = html.matchAll(/\b(?:href|src|srcset|action|formaction|poster|data|ping)="([^"]*)"/gi)
  const refreshes = html.matchAll(/<meta[^>]*http-equiv[^>]*>/gi)
  return [...[...attributes].map((match) => match[1] ?? ''), ...[...refreshes].map((match) => match[0])]
}

/** The words that a person sees. */
export function visibleText(html: string): string {
  return (
    html
      .replace(/<head>[\s\S]*<\/head>/, ' ')
      // It sets a value apart for the eye, and not by a blank.
      .replace(/<\/?bdi[^>]*>/g, '')
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

/** The value of a hidden field, of the first form that has it. */
export function hiddenField(html: string, name: string): string {
  const value = new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(html)?.[1]
  if (value === undefined) throw new Error(`no field ${name} in: ${html.slice(0, 2000)}`)
  return value
}
