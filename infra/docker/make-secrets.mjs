// Creates the secrets of a deployment on one host. It runs at each start. Existing secrets are kept; values derived from
// another file are derived again: URLs from passwords, the credential's id from its secret and audience. Each folder is a
// volume that only containers that need its files mount; all users in there can read the files, since each image has its
// own user. To replace a secret: docs/rotation.md, "With compose".
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [root, resourceUrl] = process.argv.slice(2)
if (root === undefined || resourceUrl === undefined) throw new Error('usage: make-secrets.mjs FOLDER RESOURCE_URL')

keep('postgres/superuser-password')
for (const service of ['authorization', 'files']) {
  const password = keep(`postgres/${service}-password`)
  // The role is named like its database.
  const role = `valetkey_${service}`
  follow(`${service}/database-url`, `postgres://${role}:`, encodeURIComponent(password), `@postgres:5432/${role}`)
}

const redisPassword = keep('redis/password')
follow('redis/redis.conf', 'requirepass ', redisPassword, '\n')
follow('authorization/redis-url', 'redis://:', encodeURIComponent(redisPassword), '@redis:6379')

keep('authorization/cookie-keys')
keep('files/page-token-keys')

keepCredential(keep('files/introspection-client-secret'))

/** The secret has only characters that need no escaping in a URL and in a Redis configuration. */
function keep(name) {
  const value = read(name) ?? randomBytes(32).toString('base64url')
  if (!existsSync(fileOf(name))) write(name, value)
  return value.replace(/\r?\n$/, '')
}

/** The rest of the file is kept: parameters, other lines, the URL of another server. */
function follow(name, before, password, after) {
  const found = read(name) ?? before + after
  const start = found.indexOf(before) + before.length
  const end = found.indexOf(after, start)
  if (!found.includes(before) || end < 0) return
  write(name, found.slice(0, start) + password + found.slice(end))
}

/**
 * The id is no secret. The authorization server has one secret and one audience for an id, so another RESOURCE_URL or
 * secret gets another id, derived from both. An id that was written by hand keeps its first secret and audience; a file
 * beside it records them.
 */
function keepCredential(secret) {
  const id = read('files/introspection-client-id')?.trim()
  const marked = read('files/introspection-client-mark')
  const markOf = (name) => `${name} ${hashOf(secret)} ${resourceUrl}`
  // Earlier versions wrote no such file, and derived the id from the audience.
  const isOfBefore = marked === undefined && /^files-[0-9a-f]{16}$/.test(id) && id !== `files-${hashOf(resourceUrl)}`
  const isLeftBehind = marked?.startsWith(`${id} `) && marked !== markOf(id)
  const current = !id || isOfBefore || isLeftBehind ? `files-${hashOf(`${resourceUrl} ${secret}`)}` : id
  write('files/introspection-client-id', current)
  write('files/introspection-client-mark', markOf(current))
}

function hashOf(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function fileOf(name) {
  return path.join(root, name)
}

function read(name) {
  return existsSync(fileOf(name)) ? readFileSync(fileOf(name), 'utf8') : undefined
}

/** Atomic, because services may read the file; works without the capability to write to a read-only file. */
function write(name, value) {
  if (read(name) === value) return
  const next = fileOf(`${name}.new`)
  rmSync(next, { force: true })
  writeFileSync(next, value, { mode: 0o444, flag: 'wx' })
  renameSync(next, fileOf(name))
}
