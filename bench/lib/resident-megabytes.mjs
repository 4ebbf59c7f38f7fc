import { readFileSync } from 'node:fs'

/** What of a process lies in memory now, or at most so far; Linux only. */
export const residentMegabytes = (pid) => megabytesOf('VmRSS', pid)
export const mostResidentMegabytes = (pid) => megabytesOf('VmHWM', pid)

function megabytesOf(what, pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}
