// Postgres refuses to run as root. For root it runs as another user; how depends on what the machine allows.
import { chownSync, existsSync, lstatSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { succeeds } from '../processes/programs.mjs'

const UNPRIVILEGED_ID = 65534

// The files belong to root. Only inside this user namespace the process has another user id.
const asMappedUser = ['unshare', '--user', `--map-user=${UNPRIVILEGED_ID}`, `--map-group=${UNPRIVILEGED_ID}`, '--']

// Containers that forbid user namespaces need this. The capability lets it reach a checkout that only root may enter.
const asUnprivilegedUser = [
  'setpriv',
  `--reuid=${UNPRIVILEGED_ID}`,
  `--regid=${UNPRIVILEGED_ID}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
  '--'
]

/**
 * The command prefix to run as a user that Postgres accepts, and the owner of its files.
 * @returns {{ prefix: string[], owner: number | undefined }}
 */
export function postgresIdentity() {
  if (process.getuid?.() !== 0) return { prefix: [], owner: undefined }
  if (succeeds([...asMappedUser, 'true'])) return { prefix: asMappedUser, owner: 0 }
  if (succeeds([...asUnprivilegedUser, 'true'])) return { prefix: asUnprivilegedUser, owner: UNPRIVILEGED_ID }
  throw new Error(
    'Postgres does not run as root, and this machine has no way to run it as another user. Run this as a normal user, or set DATABASE_URL and RESOURCE_DATABASE_URL to your own servers.'
  )
}

/**
 * The same checkout may have been used as the other user before, on the host and then in a container.
 * @param {number | undefined} owner
 * @param {string} folder
 */
export function giveTo(owner, folder) {
  if (owner === undefined || !existsSync(folder) || lstatSync(folder).uid === owner) return
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const entry of ['.', ...entries]) {
    const file = path.join(folder, entry)
    if (!lstatSync(file).isSymbolicLink()) chownSync(file, owner, owner)
  }
}
