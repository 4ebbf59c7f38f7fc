import { statSync } from 'node:fs'
import type { Environment } from '../process/environment-reader.js'

/** When the file that gives a variable was written; unknown where the environment holds the value itself. */
export function fileChangedAt(environment: Environment, name: string): Date | undefined {
  const file = environment[`${name}_FILE`]
  if (!file) return undefined
  try {
    return statSync(file).mtime
  } catch {
    return undefined
  }
}
