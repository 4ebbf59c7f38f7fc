// node infra/release/push-chart.mjs CHART.tgz REGISTRY/FOLDER: pushes a packed chart, and prints its digest (sha256:…). Uses
// the registry credentials that `docker login` stored.
import { parseArgs } from 'node:util'
import { pushChart } from './registry-chart.mjs'

const {
  positionals: [chart = '', charts = '']
} = parseArgs({ allowPositionals: true })
console.log(await pushChart(chart, charts))
