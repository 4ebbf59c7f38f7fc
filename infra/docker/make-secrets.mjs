// Makes the secrets of a deployment on one host, once: a file that exists is never touched again. Each folder is a volume
// that only the containers in need of its files mount; the files are readable to all in there, since each image has its
// own user. To replace a secret, write the new file and start the services again.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [root, resourceUrl] = process.argv.slice(2)
if (root === undefined || resourceUrl === undefined) throw new Error('usage: make-secrets.mjs FOLDER RESOURCE_URL')

const authorizationPassword = keep('postgres/authorization-password', random())
const filesPassword = keep('postgres/files-password', random())
keep('postgres/superuser-password', random())

const redisPassword = keep('redis/password', random())
keep('redis/redis.conf', `requirepass ${redisPassword}\n`)

keep('authorization/database-url', databaseUrl('valetkey_authorization', authorizationPassword))
keep('authorization/redis-url', `redis://:${redisPassword}@redis:6379`)
keep('authorization/cookie-keys', random())

keep('files/database-url', databaseUrl('valetkey_files', filesPassword))
keep('files/page-token-keys', random())
keep('files/introspection-client-secret', random())
// Not a secret. A credential belongs to one audience, so another RESOURCE_URL later on gets one of its own.
const audienceMark = createHash('sha256').update(resourceUrl).digest('hex').slice(0, 16)
writeFileSync(path.join(root, 'files/introspection-client-id'), `files-${audienceMark}`)

/** Only characters that stand for themselves in a URL and in a Redis configuration. */
function random() {
  return randomBytes(32).toString('base64url')
}

/** The role is named like its database. */
function databaseUrl(name, password) {
  return `postgres://${name}:${password}@postgres:5432/${name}`
}

function keep(name, value) {
  const file = path.join(root, name)
  if (!existsSync(file)) writeFileSync(file, value, { mode: 0o444, flag: 'wx' })
  return readFileSync(file, 'utf8')
}
