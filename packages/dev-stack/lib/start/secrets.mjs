// Stores what the launcher needs again at the next start, in a file that only its owner can read.
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** 256 random bits in base64url, for a password, a key or a client secret. */
export const randomSecret = () => randomBytes(32).toString('base64url')

/** @returns the secrets of this file (missing ones are created), and `save` for later values */
export function openSecrets(file) {
  const secrets = { ...freshSecrets(), ...readSaved(file) }
  const save = () => {
    writeFileSync(`${file}.new`, `${JSON.stringify(secrets, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  save()
  return { secrets, save }
}

/** The credential for introspection. Each audience has its own, because the audience of a credential cannot change. */
export function resourceServerCredential(secrets, audience) {
  secrets.resourceServers[audience] ??= { id: `files-${randomBytes(6).toString('hex')}`, secret: randomSecret() }
  return secrets.resourceServers[audience]
}

function freshSecrets() {
  return {
    postgresPassword: randomSecret(),
    authorizationDatabasePassword: randomSecret(),
    filesDatabasePassword: randomSecret(),
    redisPassword: randomSecret(),
    cookieKey: randomSecret(),
    pageTokenKey: randomSecret(),
    demoProviderSecret: randomSecret(),
    userPassword: randomBytes(12).toString('base64url'),
    resourceServers: {},
    demo: {}
  }
}

function readSaved(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return {}
    throw new Error(
      `${file} cannot be read (${error.message}); repair it, or move it and its folder away to start over`
    )
  }
}
