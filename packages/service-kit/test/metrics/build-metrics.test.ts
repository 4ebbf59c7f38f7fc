import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from '@jest/globals'
import { watchBuild } from '../../src/metrics/build-metrics.js'
import { createMetrics } from '../../src/metrics/metrics.js'

test('valetkey_build_info has the version of package.json and of Node', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'valetkey-build-'))
  const file = path.join(folder, 'package.json')
  writeFileSync(file, '{ "name": "a-service", "version": "7.8.9" }')
  const metrics = createMetrics()
  watchBuild(metrics, pathToFileURL(file))
  rmSync(folder, { recursive: true })
  const { node } = process.versions
  expect(await metrics.expose()).toContain(`valetkey_build_info{version="7.8.9",node_version="${node}"} 1\n`)
})
