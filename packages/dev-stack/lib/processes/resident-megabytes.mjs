import { readFileSync } from 'node:fs'

/**
 * Resident memory of a process, current or peak; Linux only.
 * @param {number} pid
 */
export const residentMegabytes = (pid) => megabytesOf('VmRSS', pid)
/** @param {number} pid */
export const mostResidentMegabytes = (pid) => megabytesOf('VmHWM', pid)

/**
 * @param {'VmRSS' | 'VmHWM'} what
 * @param {number} pid
 */
function megabytesOf(what, pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}
