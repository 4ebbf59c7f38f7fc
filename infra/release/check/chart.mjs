import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pushChart, runHelm } from '../registry-chart.mjs'
import { root } from '../versions.mjs'
import { documentedCommands } from './documented-commands.mjs'

/** Pushes the chart to the registry, and renders it from there with an empty values file. There is no cluster here. */
export async function checkChart({ chart, charts, version, images, repository, directory, report }) {
  const digest = await pushChart(chart, charts, ['--plain-http'])
  const manifest = await fetch(`http://${charts.replace('/', '/v2/')}/valetkey/manifests/${version}`, {
    headers: { accept: 'application/vnd.oci.image.manifest.v1+json' }
  })
  const stored = manifest.headers.get('docker-content-digest')
  if (stored !== digest) throw new Error(`helm printed ${digest}, the registry has ${stored}`)
  report('pushed the chart to a local OCI registry, and its digest is the one that is signed')

  const shown = await runHelm(['show', 'chart', `oci://${charts}/valetkey@${digest}`, '--plain-http'])
  const expected = [
    `version: ${version}`,
    `appVersion: ${version}`,
    repository,
    'artifacthub.io/images',
    '{"kind":"added"'
  ]
  for (const text of expected) if (!shown.includes(text)) throw new Error(`the pushed chart has no ${text}: ${shown}`)
  const [, icon = 'none'] =
    new RegExp(`^icon: https://raw[.]githubusercontent[.]com/.*/v${version}/(.+)$`, 'm').exec(shown) ?? []
  if (!existsSync(path.join(root, icon)))
    throw new Error(`the icon of the pushed chart is no file of this checkout: ${icon}`)

  writeFileSync(path.join(directory, 'my-values.yaml'), '')
  const [args] = documentedCommands('helm install', { version, images })
  const rendered = await runHelm(['template', ...args, '--plain-http'], directory)
  const used = new Set([...rendered.matchAll(/^ +(?:- )?image: "?([^"\s]+)"?$/gm)].map(([, image]) => image))
  const documented = ['authorization-server', 'resource-server'].map((name) => `${images}/${name}:${version}`)
  if (documented.some((image) => !used.delete(image)) || used.size > 0) {
    throw new Error(`the chart runs other images than ${documented.join(', ')}: ${[...used].join(', ')}`)
  }
  report(
    'rendered it from there with the documented command and an empty values file: it runs the images of this version'
  )
}
