import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * All rules of axe, including those off by default, except color-contrast-enhanced: it requires 7:1 (WCAG level AAA).
 * Valetkey promises AA, and an operator may choose the accent colour.
 */
const rules = Object.fromEntries(
  axe.getRules().map(({ ruleId }) => [ruleId, { enabled: ruleId !== 'color-contrast-enhanced' }])
)

/** Loads axe into the current page. */
export async function injectAxe(page: Page): Promise<void> {
  await page.evaluate(source)
}

/** The findings of axe, one line for each element. */
export async function violationsOn(page: Page): Promise<string[]> {
  const run = `axe.run({ resultTypes: ['violations'], rules: ${JSON.stringify(rules)} })`
  const { violations } = await page.evaluate<axe.AxeResults>(run)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`)
  )
}
