/** All URLs of a page: links, form targets and resources. None may be chosen by an attacker. */
export function addressesOn(html: string): string[] {
  const attributes = html.matchAll(/\b(?:href|src|srcset|action|formaction|poster|data|ping)="([^"]*)"/gi)
  const refreshes = html.matchAll(/<meta[^>]*http-equiv[^>]*>/gi)
  return [...[...attributes].map((match) => match[1] ?? ''), ...[...refreshes].map((match) => match[0])]
}

/** The URLs of a page that are not of the server's own assets and pages without a request. */
export function otherAddressesOn(html: string): string[] {
  return addressesOn(html).filter(
    (address) => !/^http:\/\/localhost:4000\/(assets\/|account\/apps$|errors\/)/.test(address)
  )
}

/** The visible text. */
export function visibleText(html: string): string {
  return (
    html
      .replace(/<head>[\s\S]*<\/head>/, ' ')
      // This element separates a value visually, without a space.
      .replace(/<\/?bdi[^>]*>/g, '')
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

/** The value of a hidden field in the first form that has it. */
export function hiddenField(html: string, name: string): string {
  const value = new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(html)?.[1]
  if (value === undefined) throw new Error(`no field ${name} in: ${html.slice(0, 2000)}`)
  return value
}
