// npm run check:helm: lints the chart, renders it for a trial and for production, and holds every document against the
// types of the Kubernetes API and against our own rules.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import * as rules from './rules.mjs'
import { findHelm, here, installPackages } from './tools.mjs'
import { typeErrors } from './type-check.mjs'

const chart = path.join(here, '..', 'valetkey')
const production = path.join(chart, 'examples', 'production.yaml')

installPackages()
const helm = await findHelm()
const { parseAllDocuments } = await import('yaml')
let failed = 0

report('helm lint --strict', complaintsOf(runHelm(['lint', '--strict', chart])))
report('helm lint --strict, production', complaintsOf(runHelm(['lint', '--strict', chart, '--values', production])))

const renderings = [
  { name: 'default', documents: render([]) },
  { name: 'production', documents: render(['--values', production]) },
  // Every switch the other way, so that no branch of a template goes unseen.
  {
    name: 'switched',
    documents: render([
      ...['--set', 'issuer=https://example.com/auth', '--set', 'resourceUrl=https://example.com/files'],
      ...['--set', 'authorizationServer.ingress.enabled=true', '--set', 'resourceServer.ingress.enabled=true'],
      ...['--set', 'networkPolicy.operatorFrom[0].ipBlock.cidr=10.0.0.0/8', '--set', 'drainSeconds=0'],
      ...[
        '--set',
        'resourceServer.serviceAccountName=files',
        '--set',
        'authorizationServer.podAnnotations.team=identity'
      ]
    ])
  }
]
for (const { name, documents } of renderings) {
  report(`helm template, ${name}: ${documents.length} documents`, documents.length > 0 ? [] : ['nothing was rendered'])
  for (const [rule, complaints] of Object.entries(rules)) report(`${rule}, ${name}`, complaints(documents))
}
report('every document fits the Kubernetes API', typeErrors(renderings))

// A check that cannot fail is none.
report('an unknown field is refused', expectRefusal(typeErrors([{ name: 'wrong', documents: [misspelt()] }])))
report(
  'an unknown value is refused',
  expectRefusal(complaintsOf(runHelm(['template', 'x', chart, '--set', 'isuer=a'])))
)
report(
  'an issuer with a trailing slash is refused',
  expectRefusal(complaintsOf(runHelm(['template', 'x', chart, '--set', 'issuer=https://example.com/'])))
)
process.exitCode = failed === 0 ? 0 : 1

function render(args) {
  const { status, stdout, stderr } = runHelm(['template', 'valetkey', chart, ...args])
  if (status !== 0) {
    report('helm template', [stderr])
    return []
  }
  // Kubernetes reads YAML 1.1, where 0440 is octal.
  const parsed = parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS())
  return parsed.filter((document) => document !== null)
}

function misspelt() {
  const { documents } = renderings[0]
  const copy = structuredClone(documents.find(({ kind }) => kind === 'Deployment'))
  copy.spec.template.spec.containers[0].readOnly = true
  return copy
}

function runHelm(args) {
  const result = spawnSync(helm, args, { encoding: 'utf8', timeout: 60_000 })
  if (result.error) throw new Error(`helm cannot be run (${result.error.message}); HELM may name one`)
  return result
}

function complaintsOf({ status, stdout, stderr }) {
  return status === 0 ? [] : [stdout + stderr]
}

function expectRefusal(complaints) {
  return complaints.length > 0 ? [] : ['it went through']
}

function report(name, complaints) {
  if (complaints.length > 0) failed += 1
  console.log(complaints.length === 0 ? `ok      ${name}` : `FAILED  ${name}\n        ${complaints.join('\n        ')}`)
}
