// npm run check:helm: lints the chart, renders it for a trial, for production, with its switches the other way, for
// one service alone and for each wish of docs/kubernetes.md, and validates every document against the types of the Kubernetes
// API, our own rules, and the allowed connections.
import path from 'node:path'
import { checkWishes } from './check-wishes.mjs'
import { impatientCommands, readOtherHooks } from './documented-values.mjs'
import { createHelm } from './helm.mjs'
import { expectedFiles, wrongFiles } from './mounted-files.mjs'
import { renderOtherHooks, wrongHooks } from './other-hooks.mjs'
import { expected, mistakes, wrongReach } from './reachability.mjs'
import { refusedValues } from './refused-values.mjs'
import * as rules from './rules.mjs'
import { runHelmTest } from './run-helm-test.mjs'
import { here, installPackages } from './tools.mjs'
import { typeErrors } from './type-check.mjs'

const chart = path.join(here, '..', 'valetkey')
const production = ['--values', path.join(chart, 'examples', 'production.yaml')]
// Every switch the other way, so that no branch of a template is untested.
const switched = ['--values', path.join(here, 'switched.yaml')]
const alone = ['--values', path.join(here, 'alone.yaml')]

installPackages()
const helm = await createHelm(chart)
let failed = 0

report('helm lint --strict', helm.lint([]))
report('helm lint --strict, production', helm.lint(production))

const renderings = Object.entries({ default: [], production, switched, alone }).map(([name, args]) => {
  const { documents, complaints } = helm.render(args)
  report(`helm template, ${name}: ${documents.length} documents`, complaints)
  return { name, documents }
})
for (const { name, documents } of renderings) {
  for (const [rule, complaints] of Object.entries(rules)) report(`${rule}, ${name}`, complaints(documents))
  report(`each pod gets its files and no other, ${name}`, wrongFiles(documents, expectedFiles[name]))
  report(`the network policies let pass whom they should, ${name}`, wrongReach(documents, expected[name]))
}
const [{ documents: defaults }] = renderings
const wished = await checkWishes(helm, defaults, { report, expectRefusal })
const otherHooks = await readOtherHooks()
const hooked = renderOtherHooks(helm, otherHooks)
report('jobs with the annotations of Argo CD', [...hooked.complaints, ...wrongHooks(hooked.documents, otherHooks)])
report('jobs with the annotations of Argo CD, not without them', expectRefusal(wrongHooks(defaults, otherHooks)))
const { activeDeadlineSeconds } = defaults.find(({ kind }) => kind === 'Job').spec
report('documented commands wait for the jobs', impatientCommands(activeDeadlineSeconds))
report('every document fits the Kubernetes API', typeErrors([...renderings, ...wished]))
for (const { name, documents } of renderings) report(`helm test, ${name}`, await runHelmTest(documents))

// Each check must be able to fail.
report('an unknown field is refused', expectRefusal(typeErrors([{ name: 'wrong', documents: [misspelt()] }])))
for (const [mistake, make] of Object.entries(mistakes)) {
  const { documents } = renderings.find(({ name }) => name === 'production')
  report(`${mistake} is noticed`, expectRefusal(wrongReach(make(documents), expected.production)))
}
for (const member of ['issuer', 'resource']) {
  report(
    `helm test notices a wrong ${member}`,
    expectRefusal(await runHelmTest(defaults, { [member]: 'https://other' }))
  )
}
for (const [what, args] of Object.entries(refusedValues)) {
  report(`${what} is refused`, expectRefusal(helm.render(args).complaints))
}
process.exitCode = failed === 0 ? 0 : 1

function misspelt() {
  const copy = structuredClone(defaults.find(({ kind }) => kind === 'Deployment'))
  copy.spec.template.spec.containers[0].readOnly = true
  return copy
}

function expectRefusal(complaints) {
  return complaints.length > 0 ? [] : ['it went through']
}

function report(name, complaints) {
  if (complaints.length > 0) failed += 1
  console.log(complaints.length === 0 ? `ok      ${name}` : `FAILED  ${name}\n        ${complaints.join('\n        ')}`)
}
