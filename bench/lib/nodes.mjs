// The measured versions of Node: the oldest supported version, and that of the images (infra/docker/Dockerfile).
import { execFileSync } from 'node:child_process'

export const OLDEST = '20.20.2'
export const OF_IMAGES = '24.21.0'

export const majorOf = (version) => version.split('.')[0]

/** The running Node if it has the same major version, else Node from npm. @returns the path of its program */
export function findNode(version) {
  if (majorOf(version) === majorOf(process.versions.node)) return process.execPath
  const options = ['--yes', `--package=node@${version}`, '--', 'node', '--print', 'process.execPath']
  return execFileSync('npx', options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
