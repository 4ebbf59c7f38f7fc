import { gatherCalls } from './gather-calls.js'
import { StoreUnavailable } from './store-unavailable.js'

/**
 * `gatherCalls` for a statement that writes a row for each who calls. One value that Postgres refuses undoes the whole
 * statement, so its rows then go one by one, and fail or succeed by themselves.
 *
 * After a lost connection nobody knows whether the rows are there: everyone is told so, and nothing is sent again.
 * @param write hands back one answer for each row, in the same order
 * @param onBatch hears how many share each statement; it must not throw
 */
export function gatherWrites<Row, Answer>(
  write: (rows: readonly Row[]) => Promise<readonly Answer[]>,
  onBatch?: (size: number) => void
): (row: Row) => Promise<Answer> {
  async function writeAll(rows: readonly Row[]): Promise<readonly PromiseSettledResult<Answer>[]> {
    try {
      return (await write(rows)).map((value) => ({ status: 'fulfilled', value }))
    } catch (error) {
      if (rows.length === 1 || error instanceof StoreUnavailable) throw error
      return Promise.allSettled(rows.map(async (row) => (await write([row]))[0] as Answer))
    }
  }

  const settle = gatherCalls(writeAll, undefined, onBatch)
  return async (row) => {
    const settled = await settle(row)
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  }
}
