import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root } from '../versions.mjs'
import { documentedCommands } from './documented-commands.mjs'

const run = promisify(execFile)
const BUILD_LIMIT_MS = 15 * 60_000

/** Builds both images, pushes them to the registry, removes them here, and pulls and runs them with the documented commands. */
export async function checkImages({ images, version, report }) {
  const docker = (...args) =>
    run('docker', args, {
      cwd: root,
      timeout: BUILD_LIMIT_MS,
      maxBuffer: 2 ** 26,
      env: { ...process.env, DOCKER_BUILDKIT: '1' }
    })
  const pulls = documentedCommands('docker pull', { version, images })
  for (const [image] of pulls) {
    const target = image.slice(images.length + 1, -version.length - 1)
    await docker('build', '--file', 'infra/docker/Dockerfile', '--target', target, '--tag', image, '.')
    await docker('push', image)
    await docker('image', 'rm', image)
  }
  for (const [image] of pulls) {
    await docker('pull', image)
    const program = image.includes('resource-server') ? 'valetkey-files' : 'valetkey'
    await docker('run', '--rm', '--read-only', image, program, '--help')
    await docker('image', 'rm', image)
  }
  report(
    `pushed ${pulls.length} images to the registry, pulled them with the documented commands and ran their programs`
  )
}
