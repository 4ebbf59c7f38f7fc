import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openVisit, type Visit } from './chromium.js'

export type Visits = {
  /** A page in a browser profile of its own. */
  open(options?: BrowserContextOptions): Promise<Page>
  /** What a developer would not have wanted to see in any of them since the last time. */
  complaints(): string[]
  /** Closes them all; gives the last complaints. */
  close(): Promise<string[]>
}

/** `origins` are those that the pages may ask for anything; of an app, its scheme. */
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
