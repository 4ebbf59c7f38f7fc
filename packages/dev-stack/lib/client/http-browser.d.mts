/** The current page, or an external address with status 0, which is not opened. */
export type Page = { url: URL; status: number; html: string }

export type HttpBrowser = {
  open(url: URL | string): Promise<Page>
  /** Fills in the first form of a page and sends it. */
  submit(page: Page, fields: Record<string, string>): Promise<Page>
  /** The current value of the Cookie header. */
  cookie(): string
}

/**
 * A browser without JavaScript for a single site. The headers are added to every request.
 * @param onResponse receives each response, including redirects
 */
export function createHttpBrowser(
  issuer: string,
  headers?: Record<string, string>,
  onResponse?: (answer: { path: string; status: number; milliseconds: number }) => void
): HttpBrowser
