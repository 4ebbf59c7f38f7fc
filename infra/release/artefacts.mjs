// node infra/release/artefacts.mjs --tag v1.2.3 --repository https://github.com/OWNER/NAME --directory DIR: builds what the
// workflow publishes from the checkout of a tag. Ends with 1 if the tag differs from the version of any file, or a changelog
// lacks its section. Also writes DIR/artifacthub-repo.yml if ARTIFACTHUB_REPOSITORY_ID is set.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildArtefacts } from './build-artefacts.mjs'
import { outdatedPages, refuseTag } from './plan.mjs'
import { readFromCheckout as read } from './versions.mjs'

const { values } = parseArgs({
  options: { tag: { type: 'string' }, repository: { type: 'string' }, directory: { type: 'string' } }
})
const { tag = '', repository = '', directory = 'artefacts' } = values
const problems = [...refuseTag(read, tag), ...outdatedPages(read)]
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
const built = await buildArtefacts({ read, repository, directory })
const { ARTIFACTHUB_REPOSITORY_ID: id } = process.env
if (id) writeFileSync(path.join(directory, 'artifacthub-repo.yml'), `repositoryID: ${id}\n`)
console.log(JSON.stringify(built))
