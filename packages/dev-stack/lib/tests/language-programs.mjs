// The languages of the quickstarts (docs/connect-an-app.md), with their Debian packages.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { findOnPath, succeeds } from '../processes/programs.mjs'

const programs = ['curl', 'go', 'java', 'jq', 'openssl', 'php', 'ruby']
const files = ['/usr/share/gocode/src/golang.org/x/oauth2/oauth2.go', '/usr/share/java/gson.jar']

/**
 * @param {NodeJS.ProcessEnv} environment
 * @returns the path of a Python with the libraries, if everything is installed
 */
export function findLanguages({ PATH = '' }) {
  if (!programs.every((program) => findOnPath([program], PATH)) || !files.every((file) => existsSync(file)))
    return undefined
  if (!succeeds(['ruby', '-e', 'require "oauth2"; require "webrick"'])) return undefined
  if (!succeeds(['php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);'])) return undefined
  const pythons = PATH.split(path.delimiter).map((folder) => findOnPath(['python3'], folder))
  return pythons.find((python) => python && succeeds([python, '-c', 'import authlib, cryptography, requests']))
}
