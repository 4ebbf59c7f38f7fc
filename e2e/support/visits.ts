import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openVisit, type Visit } from './chromium.js'

export type Visits = {
  /** A page in its own browser profile. */
  open(options?: BrowserContextOptions): Promise<Page>
  /** The errors and warnings of all pages since the last call. */
  complaints(): string[]
  /** Closes all pages; returns the last errors and warnings. */
  close(): Promise<string[]>
}

/** `origins`: the origins that pages may send requests to; of a native app, its scheme. */
export function createVisits(given: () => { browser: Browser; origins: readonly string[] }): Visits {
  const visits: Visit[] = []
  const complaints = () => visits.flatMap((visit) => visit.complaints.splice(0))
  return {
    async open(options = {}) {
      const { browser, origins } = given()
      const visit = await openVisit(browser, origins, options)
      visits.push(visit)
      return visit.page
    },
    complaints,
    async close() {
      await Promise.all(visits.map(({ page }) => page.context().close()))
      const last = complaints()
      visits.length = 0
      return last
    }
  }
}
