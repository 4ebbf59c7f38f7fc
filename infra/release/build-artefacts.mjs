import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { packConformance } from '../../packages/conformance/publish/pack-conformance.mjs'
import { packGuard } from '../../packages/guard/publish/pack-guard.mjs'
import { findHelm, installPackages } from '../helm/check/tools.mjs'
import { changesOf, sectionOf } from './changelog.mjs'
import { CHANGELOG } from './plan.mjs'
import { root, versionsIn } from './versions.mjs'

const CHART = 'infra/helm/valetkey'

/**
 * Returns the place where a release is published.
 * @param {string} repository https://github.com/OWNER/NAME
 * @returns {{ images: string, charts: string }} the prefix of image names, and the folder of the chart, both without scheme
 */
function addressesOf(repository) {
  const [, name] = /^https:\/\/github\.com\/([\w.-]+\/[\w.-]+)$/.exec(repository) ?? []
  if (name === undefined) throw new Error(`${repository} is not of the form https://github.com/OWNER/NAME`)
  // Names of images are lower case.
  const images = `ghcr.io/${name.toLowerCase()}`
  return { images, charts: `${images}/charts` }
}

/**
 * Fills `directory` with what a release publishes: the tarballs of guard and conformance command, the chart, the notes,
 * `release.json` with version and addresses for later steps, and the checksums.
 * @param {object} options
 * @param {(file: string) => string} options.read of the files at the tag
 * @param {string} options.repository https://github.com/OWNER/NAME
 * @param {string} options.directory created if missing
 * @param {{ images: string, charts: string }} [options.addresses] others than those of the repository, for a trial
 * @returns {Promise<{ version: string, images: string, charts: string, guard: string, conformance: string, chart: string }>}
 *   file names of the last three
 */
export async function buildArtefacts({ read, repository, directory, addresses = addressesOf(repository) }) {
  const [{ version }] = versionsIn(read)
  const section = sectionOf(read(CHANGELOG), version) ?? ''
  const release = { version, repository, ...addresses, changes: changesOf(section) }
  mkdirSync(directory, { recursive: true })
  const guard = path.basename(await packGuard(directory, { read, repository }))
  const conformance = path.basename(await packConformance(directory, { read, repository }))
  const chart = await packChart(release, read, directory)
  const built = { version, ...addresses, guard, conformance, chart }
  writeFileSync(path.join(directory, 'notes.md'), notesOf(release, section))
  writeFileSync(path.join(directory, 'release.json'), `${JSON.stringify(built)}\n`)
  const sums = [guard, conformance, chart].map((name) => `${sha256(path.join(directory, name))}  ${name}\n`)
  writeFileSync(path.join(directory, 'SHA256SUMS'), sums.join(''))
  return built
}

/** Packs the chart with the addresses of the images and of this repository. @returns {Promise<string>} the file name */
async function packChart(release, read, directory) {
  installPackages()
  const stage = mkdtempSync(path.join(tmpdir(), 'chart-'))
  try {
    const copy = path.join(stage, 'valetkey')
    cpSync(path.join(root, CHART), copy, { recursive: true })
    for (const name of ['Chart.yaml', 'values.yaml', 'README.md']) {
      writeFileSync(path.join(copy, name), releasedText(name, read(`${CHART}/${name}`), release))
    }
    cpSync(path.join(root, 'LICENSE'), path.join(copy, 'LICENSE'))
    const helm = await findHelm()
    run(helm, ['lint', '--strict', '--quiet', copy])
    run(helm, ['package', copy, '--destination', directory])
    return `valetkey-${release.version}.tgz`
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function releasedText(name, text, release) {
  const { version, repository, images } = release
  switch (name) {
    case 'Chart.yaml':
      return text + chartMetadata(release)
    case 'values.yaml':
      return text.replaceAll('repository: valetkey/', `repository: ${images}/`)
    case 'README.md':
      // Links of the folder, such as to an example, and of the repository.
      return text
        .replaceAll('](../../../', `](${repository}/blob/v${version}/`)
        .replaceAll('](examples/', `](${repository}/blob/v${version}/${CHART}/examples/`)
  }
}

/** The icon of the sign-in pages. */
const ICON = 'services/authorization-server/views/icon.svg'

/** What Artifact Hub shows. Only a release has the address of the repository. */
const chartMetadata = ({ version, repository, images, changes }) => `home: ${repository}
icon: ${repository.replace('https://github.com/', 'https://raw.githubusercontent.com/')}/v${version}/${ICON}
sources: ["${repository}"]
maintainers: [{ name: Valetkey maintainers, url: "${repository}" }]
annotations:
  artifacthub.io/category: security
  artifacthub.io/license: Apache-2.0
  artifacthub.io/links: |
    - { name: changelog, url: "${repository}/blob/v${version}/CHANGELOG.md" }
    - { name: verification, url: "${repository}/blob/v${version}/docs/install.md" }
    - { name: support, url: "${repository}/issues" }
  artifacthub.io/images: |
    - { name: authorization-server, image: "${images}/authorization-server:${version}" }
    - { name: resource-server, image: "${images}/resource-server:${version}" }
  artifacthub.io/changes: |
    ${JSON.stringify(changes)}
`

/** The text of the release on GitHub. Links of the changelog lead to the files at the tag. */
function notesOf({ version, repository, images, charts }, section) {
  const changes = section.replace(/\]\((?![a-z]+:|#)([^)]+)\)/g, `](${repository}/blob/v${version}/$1)`)
  return `${changes}

## Install

\`\`\`sh
npm install @valetkey/guard@${version}
npm install --save-dev @valetkey/conformance@${version}
helm install valetkey oci://${charts}/valetkey --version ${version} --values my-values.yaml --timeout 15m
docker pull ${images}/authorization-server:${version}
docker pull ${images}/resource-server:${version}
\`\`\`

[Verify](${repository}/blob/v${version}/docs/install.md#verify) before you install,
[upgrade](${repository}/blob/v${version}/docs/upgrade.md) from an earlier release.
`
}

/** Names and SHA-256 digests of all files of a folder. @returns {{ name: string, digest: string }[]} */
export function digestsIn(directory) {
  return readdirSync(directory).map((name) => ({ name, digest: sha256(path.join(directory, name)) }))
}

const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 })
  if (status !== 0) throw error ?? new Error(`${command} ${args[0]} ended with ${status}: ${stdout}${stderr}`)
}
