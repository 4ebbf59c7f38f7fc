import { readFileSync } from 'node:fs'

/** The version of a service. @param packageFile its package.json */
export function readPackageVersion(packageFile: URL): string {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  return version
}
