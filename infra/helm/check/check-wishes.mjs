// Renders each row of docs/kubernetes.md, "Wishes".
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { startCluster } from './cluster.mjs'
import { readDocumentedValues } from './documented-values.mjs'
import { expected, wrongReach } from './reachability.mjs'
import * as rules from './rules.mjs'
import { unmetBy, wishes } from './wishes.mjs'

/** Needs a cluster. */
const RESTART = 'restart on a changed Secret'

/**
 * @param {{ render(args: string[]): { documents: object[], complaints: string[] } }} helm
 * @param {object[]} defaults the rendering with the default values
 * @param {{ report(name: string, complaints: string[]): void, expectRefusal(complaints: string[]): string[] }} reporter
 * @returns the documents of each wish that differ from the default ones
 */
export async function checkWishes(helm, defaults, { report, expectRefusal }) {
  const documented = await readDocumentedValues()
  const names = new Set([...Object.keys(documented), ...Object.keys(wishes), RESTART])
  const known = new Set(defaults.map((document) => JSON.stringify(document)))
  const renderings = []
  for (const wish of names) {
    const values = documented[wish]
    if (values === undefined) report(`${wish} is documented`, ['docs/kubernetes.md has no such row'])
    else if (wish === RESTART) report(wish, await wrongRestarts(helm, values))
    else if (wishes[wish] === undefined) report(`${wish} is checked`, ['wishes.mjs has no such check'])
    else {
      const { documents, complaints } = helm.render(asArguments(values))
      const broken = Object.entries(rules).flatMap(([, rule]) => rule(documents))
      const reach = wrongReach(documents, expected[wish] ?? {})
      report(wish, [...complaints, ...unmetBy(documents, wish, values), ...broken, ...reach])
      report(`${wish}, not without its values`, expectRefusal(unmetBy(defaults, wish, values)))
      const changed = documents.filter((document) => !known.has(JSON.stringify(document)))
      renderings.push({ name: wish, documents: changed })
    }
  }
  checkAlerts(renderings, report)
  return renderings
}

const asArguments = (values) =>
  Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`])

/** Every way in which a pod of the authorization server gets a Secret or ConfigMap of the operator. */
const extra = {
  extraVolumes: [
    { name: 'a', secret: { secretName: 'secret-of-a-volume' } },
    { name: 'b', configMap: { name: 'map-of-a-volume' } },
    {
      name: 'c',
      projected: {
        sources: [
          { secret: { name: 'projected-secret' } },
          { configMap: { name: 'projected-map' } },
          { serviceAccountToken: { path: 'token' } }
        ]
      }
    },
    { name: 'd', emptyDir: {} }
  ],
  extraEnv: [
    { name: 'A', valueFrom: { secretKeyRef: { name: 'secret-of-a-variable', key: 'a' } } },
    { name: 'B', valueFrom: { configMapKeyRef: { name: 'map-of-a-variable', key: 'b' } } },
    { name: 'C', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'D', value: 'd' }
  ]
}
/** Secrets and ConfigMaps, and which Deployment takes files or variables from them: the first or the second. */
const sources = [
  ['nothing', undefined],
  ['valetkey-authorization-server', 0],
  ['valetkey-resource-server', 1],
  ...JSON.stringify(extra)
    .match(/(secret|map)-of-a-\w+|projected-(secret|map)/g)
    .map((name) => [name, 0])
]

/** Pods are replaced if an object that they take files or variables from has changed, and otherwise stay. */
async function wrongRestarts(helm, values) {
  const cluster = await startCluster()
  const checksums = () => {
    const args = asArguments({ ...values, authorizationServer: extra })
    const { documents, complaints } = helm.render([...args, ...cluster.args])
    if (complaints.length > 0) throw new Error(complaints.join('\n'))
    const deployments = documents.filter(({ kind }) => kind === 'Deployment')
    return deployments.map(({ spec }) => spec.template.metadata.annotations['checksum/files'])
  }
  const wrong = []
  try {
    let before = checksums()
    for (const [changed, affected] of sources) {
      await cluster.change(changed)
      const after = checksums()
      const isWrong = after.map((one, index) => !one || (one === before[index]) === (index === affected))
      if (isWrong.includes(true)) wrong.push(`${changed} changed: ${before} became ${after}`)
      before = after
    }
  } finally {
    await cluster.stop()
  }
  return wrong
}

function checkAlerts(renderings, report) {
  const rule = renderings.flatMap(({ documents }) => documents).find(({ kind }) => kind === 'PrometheusRule')
  const folder = mkdtempSync(path.join(os.tmpdir(), 'valetkey-alerts-'))
  const file = path.join(folder, 'alerts.json')
  writeFileSync(file, JSON.stringify(rule?.spec))
  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  if (error?.code === 'ENOENT') console.log('skipped promtool check rules: promtool was not found')
  else report('promtool check rules', status === 0 ? [] : [stdout + stderr])
}
