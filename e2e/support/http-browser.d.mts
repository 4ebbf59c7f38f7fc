/** The current page of Valetkey, or an external address that was not opened, with status 0. */
export type Page = { url: URL; status: number; html: string }

export type HttpBrowser = {
  open(url: URL | string): Promise<Page>
  /** Fills in the first form of a page and sends it. */
  submit(page: Page, fields: Record<string, string>): Promise<Page>
  /** What it has kept so far, as the Cookie header. */
  cookie(): string
}

/**
 * A browser without JavaScript, for the site of this address and no other; the headers go with every request.
 * @param onAnswer receives each answer, also those that redirect
 */
export function createHttpBrowser(
  issuer: string,
  headers?: Record<string, string>,
  onAnswer?: (answer: { path: string; status: number; milliseconds: number }) => void
): HttpBrowser
