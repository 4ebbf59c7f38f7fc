// `.data/run.json`: the process that runs this checkout, and the settings that the command lines need.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { codeOf } from '../error-code.mjs'
import { commandOf, isAlive } from './process-table.mjs'

/**
 * Reserves the checkout for this process.
 * @param {string} file
 * @returns the process that reserved it before, or undefined
 */
export function claimRunFile(file) {
  const holder = readRunFile(file)
  if (holder !== undefined) return holder.pid
  rmSync(file, { force: true })
  try {
    writeFileSync(file, JSON.stringify({ pid: process.pid }), { mode: 0o600, flag: 'wx' })
    return undefined
  } catch (error) {
    // Two launchers were started at the same moment, and the other was first.
    if (codeOf(error) === 'EEXIST') return readRunFile(file)?.pid ?? 0
    throw error
  }
}

/**
 * @param {string} file
 * @param {NodeJS.ProcessEnv} environment
 */
export function writeRunFile(file, environment) {
  writeFileSync(`${file}.new`, `${JSON.stringify({ pid: process.pid, environment }, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** @param {string} file */
export const releaseRunFile = (file) => rmSync(file, { force: true })

/**
 * What the running launcher wrote, or undefined if none runs.
 * @param {string} file
 * @returns {{ pid: number, environment?: NodeJS.ProcessEnv } | undefined}
 */
export function readRunFile(file) {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8'))
    return isLauncher(content.pid) ? content : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * A killed launcher leaves its file, and its process id may belong to another program now.
 * @param {number} pid
 */
const isLauncher = (pid) => pid !== process.pid && isAlive(pid) && /\b(start|dev)\.mjs\b/.test(commandOf(pid))
