// npm run check:release [-- --images]: a dry run of a whole release. Builds everything for a version that does not exist,
// publishes it to registries on loopback, and installs it from there with the commands of docs/install.md: the packages
// of npm in an empty folder, the chart with an empty values file. The chart needs Debian's docker-registry and is left out without it;
// --images also builds the images with docker and publishes them, for the architecture of this machine.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildArtefacts, digestsIn } from './build-artefacts.mjs'
import { checkChart } from './check/chart.mjs'
import { checkImages } from './check/images.mjs'
import { checkPackages } from './check/packages.mjs'
import { hasContainerRegistry, startContainerRegistry } from './check/registry.mjs'
import { planRelease, refuseTag } from './plan.mjs'
import { readFromCheckout, versionsIn } from './versions.mjs'

const VERSION = '9999.0.0'
const REPOSITORY = 'https://github.com/OWNER/valetkey'

const { values } = parseArgs({ options: { images: { type: 'boolean', default: false } } })
const directory = mkdtempSync(path.join(tmpdir(), 'release-'))
const artefacts = path.join(directory, 'artefacts')
const registry = hasContainerRegistry() ? await startContainerRegistry(path.join(directory, 'registry')) : undefined
try {
  await check()
} catch (error) {
  console.error(`FAILED  ${error.message}`)
  process.exitCode = 1
} finally {
  await registry?.close()
  rmSync(directory, { recursive: true, force: true })
}

async function check() {
  const plan = planRelease(readFromCheckout, VERSION, '9999-12-31')
  const read = (file) => plan.get(file) ?? readFromCheckout(file)
  passUnless(`all ${versionsIn(read).length} places have one version, and both changelogs its section`, [
    ...refuseTag(read, `v${VERSION}`)
  ])
  const images = `${registry?.host ?? '127.0.0.1:5000'}/owner/valetkey`
  const addresses = { images, charts: `${images}/charts` }
  const { guard, conformance, chart } = await buildArtefacts({
    read,
    repository: REPOSITORY,
    directory: artefacts,
    addresses
  })
  passUnless(`built ${digestsIn(artefacts).length} files`, [])

  const report = (what) => console.log(`ok      ${what}`)
  const release = { version: VERSION, repository: REPOSITORY, ...addresses, directory: path.join(directory, 'work') }
  mkdirSync(release.directory)
  const tarballs = { guard: path.join(artefacts, guard), conformance: path.join(artefacts, conformance) }
  await checkPackages({ ...release, tarballs, report })
  if (registry === undefined) return console.log('skipped chart and images: there is no docker-registry')
  if (values.images) await checkImages({ ...release, report })
  await checkChart({ ...release, chart: path.join(artefacts, chart), report })
}

function passUnless(what, complaints) {
  if (complaints.length > 0) throw new Error(complaints.join('\n        '))
  console.log(`ok      ${what}`)
}
