// A lock file of an earlier server: that server still runs, or its process id now belongs to another process.
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { commandOf, isAlive } from '../processes/process-table.mjs'

const TIME_LIMIT_MS = 10_000

/**
 * Postgres refuses to start if the process id in its lock file exists, even if it belongs to another program.
 * @param {string} directory
 */
export async function endOrphan(directory) {
  const lock = path.join(directory, 'postmaster.pid')
  const pid = readPid(lock)
  if (pid === undefined) return
  const command = commandOf(pid)
  if (!command.includes('postgres') || !command.includes(directory)) {
    rmSync(lock, { force: true })
    return
  }
  process.kill(pid, 'SIGINT')
  const deadline = Date.now() + TIME_LIMIT_MS
  while (isAlive(pid)) {
    if (Date.now() > deadline) throw new Error(`A Postgres server from an earlier run (process ${pid}) does not stop.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** @param {string} lock */
function readPid(lock) {
  try {
    return Number.parseInt(readFileSync(lock, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}
