// npm run release -- VERSION [--dry-run]: sets the version in all packages and the chart, and dates the changelogs' sections.
// Publishes nothing: a maintainer commits and pushes the tag, and .github/workflows/release.yml builds and publishes
// (docs/releasing.md). --dry-run changes no file, but builds everything that the workflow builds, and prints it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildArtefacts, digestsIn } from './build-artefacts.mjs'
import { outdatedPages, planRelease, refuseRelease } from './plan.mjs'
import { readFromCheckout, root } from './versions.mjs'

const {
  values: { 'dry-run': isDryRun, repository },
  positionals: [version = '']
} = parseArgs({
  allowPositionals: true,
  options: {
    'dry-run': { type: 'boolean', default: false },
    repository: { type: 'string', default: 'https://github.com/OWNER/valetkey' }
  }
})

const outdated = outdatedPages(readFromCheckout)
// A dry run is possible at any time, so it only lists the pages.
const problems = [...refuseRelease(readFromCheckout, version), ...(isDryRun ? [] : outdated)]
if (problems.length > 0) {
  console.error([...problems, `Not released. docs/releasing.md describes the steps.`].join('\n'))
  process.exit(1)
}
const plan = planRelease(readFromCheckout, version, new Date().toISOString().slice(0, 10))
if (isDryRun) await dryRun()
else release()

function release() {
  for (const [file, text] of plan) writeFileSync(path.join(root, file), text)
  console.log(`${plan.size} files have version ${version}. Next, after review and CI:
  git commit --all --message 'chore(release): ${version}'
  git tag --sign v${version} --message ${version} && git push origin main v${version}`)
}

async function dryRun() {
  const directory = mkdtempSync(path.join(tmpdir(), 'release-'))
  try {
    const read = (file) => plan.get(file) ?? readFromCheckout(file)
    const { images, charts, guard, conformance } = await buildArtefacts({ read, repository, directory })
    console.log(`Files that get version ${version} or its date:`)
    for (const file of plan.keys()) console.log(`  ${file}`)
    if (outdated.length > 0) console.log(`To change by hand before the release:\n  ${outdated.join('\n  ')}`)
    console.log('Built, with SHA-256:')
    for (const { name, digest } of digestsIn(directory)) console.log(`  ${digest}  ${name}`)
    console.log(`The workflow of the tag v${version} would publish:
  ${guard} and ${conformance} to npm, staged until a maintainer approves
  ${images}/authorization-server:${version} and ${images}/resource-server:${version}, for amd64 and arm64, signed
  oci://${charts}/valetkey:${version}, signed
  a draft of the release on GitHub
Nothing was changed or published.`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
