import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import axe, { type RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * All rules of axe, including those off by default, except color-contrast-enhanced: it requires 7:1 (WCAG level AAA).
 * Valetkey promises AA, and an operator may choose the accent colour.
 */
const rules = Object.fromEntries(
  axe.getRules().map(({ ruleId }) => [ruleId, { enabled: ruleId !== 'color-contrast-enhanced' }])
)

/** The rules about sizes, places and colours. All other rules are about the document and what is visible of it. */
const appearance = [
  'color-contrast',
  'link-in-text-block',
  'p-as-heading',
  'scrollable-region-focusable',
  'target-size'
]

/** Script: the findings, one line for each element. Only they leave the page: all results of axe are slow to transfer. */
const scriptOf = (options: RunOptions) =>
  `axe.run(${JSON.stringify({ ...options, resultTypes: ['violations'] })})
    .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ' at ' + target.join(' ') + ': ' + failureSummary)))`

const everyRule = scriptOf({ rules })
const appearanceRules = scriptOf({ runOnly: { type: 'rule', values: appearance }, preload: false })

/** Loads axe into the current page. */
export async function injectAxe(page: Page): Promise<void> {
  await page.evaluate(source)
}

/** The findings of axe, one line for each element. */
export const violationsOn = (page: Page): Promise<string[]> => page.evaluate(everyRule)

/** The findings that depend on sizes and colours, for a page whose visible elements `violationsOn` has checked. */
export const appearanceViolationsOn = (page: Page): Promise<string[]> => page.evaluate(appearanceRules)
