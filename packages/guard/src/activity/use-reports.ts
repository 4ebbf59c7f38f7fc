import { randomBytes } from 'node:crypto'
import type { CountedUse } from './use-counter.js'

/** One request to the authorization server. A repetition has the same id, so it counts once. */
export type UseReport = { body: string; uses: readonly CountedUse[] }

/** As many as the endpoint accepts. */
const MOST_USES = 500
/** As much as the endpoint accepts for one use. */
const MOST_ITEMS = 1_000_000_000

export function toReports(uses: readonly CountedUse[]): UseReport[] {
  return Array.from({ length: Math.ceil(uses.length / MOST_USES) }, (_, index) => {
    const part = uses.slice(index * MOST_USES, (index + 1) * MOST_USES)
    return { body: toBody(part), uses: part }
  })
}

function toBody(uses: readonly CountedUse[]): string {
  return JSON.stringify({
    report_id: randomBytes(16).toString('base64url'),
    uses: uses.map(({ grantId, action, count, lastAt }) => ({
      grant_id: grantId,
      action,
      count: Math.min(count, MOST_ITEMS),
      last_at: Math.floor(lastAt / 1_000)
    }))
  })
}

/** Actions that no operator declared for this API. An unreadable response names none. */
export function unknownActions(body: string, { uses }: UseReport): readonly string[] {
  const rows = ignoredRows(body).filter(({ reason }) => reason === 'unknown_action')
  return [...new Set(rows.flatMap(({ row }) => uses[row as number]?.action ?? []))]
}

function ignoredRows(body: string): readonly { row?: unknown; reason?: unknown }[] {
  try {
    const { ignored } = JSON.parse(body)
    return Array.isArray(ignored) ? ignored.filter((each) => typeof each === 'object' && each !== null) : []
  } catch {
    return []
  }
}
