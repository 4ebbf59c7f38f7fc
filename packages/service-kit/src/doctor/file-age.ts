import { statSync } from 'node:fs'
import type { Environment } from '../process/environment-reader.js'

/** When the file of a `…_FILE` variable was written; undefined if the environment contains the value itself. */
export function fileChangedAt(environment: Environment, name: string): Date | undefined {
  const file = environment[`${name}_FILE`]
  if (!file) return undefined
  try {
    return statSync(file).mtime
  } catch {
    return undefined
  }
}
