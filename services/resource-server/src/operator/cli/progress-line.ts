export type Progress = {
  /** Entries looked at so far. */
  done: number
  /** Entries that there are; undefined until they have been counted. */
  total: number | undefined
  elapsedMs: number
  /** Where it is. */
  path: string
}

const BAR_WIDTH = 20

/** One line for a terminal that is so many columns wide: how far it has come, how fast, how long still, and where. */
export function progressLine({ done, total, elapsedMs, path }: Progress, columns: number): string {
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1_000 : 0
  const parts = [`${number(done)}${total === undefined ? '' : ` of ${number(total)}`}`, `${number(Math.round(rate))}/s`]
  if (total !== undefined) {
    // More may have come since they were counted.
    const part = total === 0 ? 1 : Math.min(1, done / total)
    const filled = Math.round(part * BAR_WIDTH)
    parts.unshift(`${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(part * 100)} %`)
    if (rate > 0 && done < total) parts.push(`${duration((total - done) / rate)} left`)
  }
  // One column stays free: in the last one some terminals begin a new line.
  const room = Math.max(0, columns - 1)
  const line = parts.join('  ')
  const left = room - line.length - 2
  return left < 10 ? line.slice(0, room) : `${line}  ${shorten(path, left)}`
}

const number = (value: number): string => value.toLocaleString('en-US')

function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3_600).toFixed(1)} h`
}

/** The end says more than the beginning. */
const shorten = (path: string, room: number): string => (path.length <= room ? path : `…${path.slice(1 - room)}`)
