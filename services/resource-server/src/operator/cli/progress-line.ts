export type Progress = {
  /** Number of processed entries. */
  done: number
  /** Number of all entries; undefined until they have been counted. */
  total: number | undefined
  elapsedMs: number
  /** The current entry. */
  path: string
}

const BAR_WIDTH = 20

/** One line for the terminal: progress, speed, remaining time and current path. */
export function progressLine({ done, total, elapsedMs, path }: Progress, columns: number): string {
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1_000 : 0
  const parts = [`${number(done)}${total === undefined ? '' : ` of ${number(total)}`}`, `${number(Math.round(rate))}/s`]
  if (total !== undefined) {
    // Entries may have been added since the count.
    const part = total === 0 ? 1 : Math.min(1, done / total)
    const filled = Math.round(part * BAR_WIDTH)
    parts.unshift(`${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(part * 100)} %`)
    if (rate > 0 && done < total) parts.push(`${duration((total - done) / rate)} left`)
  }
  // One column remains free: some terminals begin a new line after the last column.
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

/** Keeps the end of the path, because it names the file. */
const shorten = (path: string, room: number): string => (path.length <= room ? path : `…${path.slice(1 - room)}`)
