// The versions of Node that are measured: the oldest that is supported, and that of the images (infra/docker/Dockerfile).
import { execFileSync } from 'node:child_process'

export const OLDEST = '20.20.2'
export const OF_IMAGES = '24.21.0'

export const majorOf = (version) => version.split('.')[0]

/** The running Node if its major version is the same, else one from npm. @returns the path of its program */
export function findNode(version) {
  if (majorOf(version) === majorOf(process.versions.node)) return process.execPath
  const options = ['--yes', `--package=node@${version}`, '--', 'node', '--print', 'process.execPath']
  return execFileSync('npx', options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
