// Reads the log of a process since this start.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

const TAIL_BYTES = 16_384

/**
 * The last lines of a process in its log, indented. Lines of earlier starts are left out.
 * @param {{ logFile: string, logStart: number }} log
 * @param {number} [count]
 */
export function lastLines({ logFile, logStart }, count = 15) {
  const { size } = statSync(logFile)
  const from = Math.max(logStart, size - TAIL_BYTES)
  const buffer = Buffer.alloc(Math.max(0, size - from))
  const file = openSync(logFile, 'r')
  readSync(file, buffer, 0, buffer.length, from)
  closeSync(file)
  const lines = buffer.toString('utf8').trimEnd().split('\n').slice(-count)
  return lines.map((line) => `  ${line}`).join('\n')
}
