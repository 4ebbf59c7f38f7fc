import { readFileSync } from 'node:fs'

/** Resident memory of a process, current or peak; Linux only. */
export const residentMegabytes = (pid) => megabytesOf('VmRSS', pid)
export const mostResidentMegabytes = (pid) => megabytesOf('VmHWM', pid)

function megabytesOf(what, pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}
