import type { DestinationStream } from 'pino'

/** Bytes, roughly: under a flood of lines they go out sooner. */
const ENOUGH = 64 * 1024

/**
 * Writes the lines of one turn of the event loop together: with a system call for each, logging a request costs more than
 * answering it. A process that ends in any way but by SIGKILL has written all of them.
 */
export function gatherLines(destination: DestinationStream): DestinationStream {
  let gathered = ''
  let planned = false

  function flush(): void {
    planned = false
    const lines = gathered
    gathered = ''
    if (lines !== '') destination.write(lines)
  }

  flushAtExit(flush)
  return {
    write(line) {
      gathered += line
      if (gathered.length >= ENOUGH) return flush()
      if (planned) return undefined
      planned = true
      setImmediate(flush)
      return undefined
    }
  }
}

const flushes = new Set<() => void>()

/** One listener for all: a process may have many loggers, and warns of many listeners. */
function flushAtExit(flush: () => void): void {
  if (flushes.size === 0) {
    process.on('exit', () => {
      for (const each of flushes) each()
    })
  }
  flushes.add(flush)
}
