// Stores what the launcher needs again at the next start, in a file that only its owner can read.
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { codeOf, messageOf } from '../error-code.mjs'

/** @typedef {{ id: string, secret: string }} Credential */
/** @typedef {ReturnType<typeof freshSecrets>} Secrets */
/** @typedef {{ userId?: string, clientId?: string, clientSecret?: string, redirectUri?: string }} Remembered */

/** 256 random bits in base64url, for a password, a key or a client secret. */
export const randomSecret = () => randomBytes(32).toString('base64url')

/**
 * @param {string} file
 * @returns the secrets of this file (missing ones are created), and `save` for later values
 */
export function openSecrets(file) {
  const secrets = { ...freshSecrets(), ...readSaved(file) }
  const save = () => {
    writeFileSync(`${file}.new`, `${JSON.stringify(secrets, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  save()
  return { secrets, save }
}

/**
 * The credential for introspection. Each audience has its own, because the audience of a credential cannot change.
 * @param {Secrets} secrets
 * @param {string} audience
 */
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
    /** @type {Record<string, Credential>} */
    resourceServers: {},
    /** @type {Record<string, Remembered>} */
    demo: {}
  }
}

/** @param {string} file */
function readSaved(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {}
    throw new Error(
      `${file} cannot be read (${messageOf(error)}); repair it, or move it and its folder away to start over`
    )
  }
}
