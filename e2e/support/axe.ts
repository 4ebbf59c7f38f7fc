import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Every rule axe has, those it leaves out by default included, but one: color-contrast-enhanced asks for 7:1, level AAA of
 * WCAG. Our promise is AA, and the accent may be an operator's.
 */
const rules = Object.fromEntries(
  axe.getRules().map(({ ruleId }) => [ruleId, { enabled: ruleId !== 'color-contrast-enhanced' }])
)

/** Puts axe into the page, for as long as that page is shown. */
export async function injectAxe(page: Page): Promise<void> {
  await page.evaluate(source)
}

/** What axe finds wrong with the page, one line for each element. */
export async function violationsOn(page: Page): Promise<string[]> {
  const run = `axe.run({ resultTypes: ['violations'], rules: ${JSON.stringify(rules)} })`
  const { violations } = await page.evaluate<axe.AxeResults>(run)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`)
  )
}
