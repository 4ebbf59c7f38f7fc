import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import path from 'node:path'
import { findHelm, installPackages } from '../helm/check/tools.mjs'

/**
 * Pushes a packed chart to an OCI registry.
 * @param {string} chart a file
 * @param {string} charts REGISTRY/FOLDER, without scheme
 * @param {string[]} [options] of helm
 * @returns {Promise<string>} sha256:…
 */
export async function pushChart(chart, charts, options = []) {
  installPackages()
  const output = await runHelm(['push', chart, `oci://${charts}`, ...options])
  const [digest] = /sha256:[0-9a-f]{64}/.exec(output) ?? []
  if (digest === undefined) throw new Error(`helm push printed no digest: ${output}`)
  return digest
}

/** Runs helm with the registry credentials of docker. @returns {Promise<string>} stdout and stderr */
export async function runHelm(args, cwd) {
  const credentials = path.join(process.env.DOCKER_CONFIG ?? path.join(homedir(), '.docker'), 'config.json')
  const result = spawnSync(await findHelm(), args, {
    cwd,
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, HELM_REGISTRY_CONFIG: credentials }
  })
  const output = `${result.stdout}${result.stderr}`
  if (result.status !== 0) throw result.error ?? new Error(`helm ${args[0]} ended with ${result.status}: ${output}`)
  return output
}
