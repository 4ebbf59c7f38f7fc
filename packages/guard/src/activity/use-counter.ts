/** How often an app used one action with one grant. @property lastAt in milliseconds since 1970 */
export type CountedUse = { grantId: string; action: string; count: number; lastAt: number }

/** Some 4 MB. With reports every 30 seconds, 600 grants a second. */
const MOST_USES = 20_000

/** Sums uses in memory. @param most further pairs of grant and action are not counted */
export function createUseCounter(most = MOST_USES) {
  /** By action, then by grant. */
  let uses = new Map<string, Map<string, CountedUse>>()
  let size = 0
  let lost = 0

  return {
    add(grantId: string, action: string, count: number, lastAt: number): void {
      let ofAction = uses.get(action)
      if (ofAction === undefined) {
        ofAction = new Map()
        uses.set(action, ofAction)
      }
      const use = ofAction.get(grantId)
      if (use !== undefined) {
        use.count += count
        // The clock may have been set back.
        if (lastAt > use.lastAt) use.lastAt = lastAt
      } else if (size < most) {
        size += 1
        ofAction.set(grantId, { grantId, action, count, lastAt })
      } else {
        lost += 1
      }
    },

    /** Removes and returns all sums. @returns lost: calls of `add` that were not counted since the last time */
    take(): { uses: CountedUse[]; lost: number } {
      const taken = { uses: [...uses.values()].flatMap((ofAction) => [...ofAction.values()]), lost }
      uses = new Map()
      size = 0
      lost = 0
      return taken
    },

    isEmpty: () => size === 0 && lost === 0
  }
}
