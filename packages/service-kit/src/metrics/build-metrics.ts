import { readPackageVersion } from '../process/package-version.js'
import type { Metrics } from './metrics.js'

/** Exposes the version of the service and of Node. @param packageFile the service's package.json, read once */
export function watchBuild(metrics: Metrics, packageFile: URL): void {
  const labels = { version: readPackageVersion(packageFile), node_version: process.versions.node }
  metrics.gauge(
    { name: 'valetkey_build_info', help: 'Always 1; its labels have the version of the release and of Node.' },
    () => [{ labels, value: 1 }]
  )
}
