import { countsOf, type Report } from '../run-checks.js'

/** One JSON document with the exchanges of every check. */
export function toJson(report: Report): string {
  const results = report.results.map(({ check, status, message, exchanges }) => {
    const { id, title, section, level, hint } = check
    return { id, title, section, level, status, message, hint, exchanges }
  })
  const { issuer, profile } = report
  return `${JSON.stringify({ issuer, profile, counts: countsOf(report), results }, undefined, 2)}\n`
}
