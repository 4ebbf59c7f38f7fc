// Renders the annotations of docs/kubernetes.md, "Argo CD and Flux".
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'

/** @returns {{ documents: object[], complaints: string[] }} the chart with these values, from a file because of `null` */
export function renderOtherHooks(helm, values) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'valetkey-hooks-'))
  try {
    const file = path.join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return helm.render(['--values', file])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Jobs before a release must have these annotations and the weight, and no hook of Helm. */
export function wrongHooks(documents, { jobs }) {
  const given = Object.entries(jobs.annotations).filter(([, value]) => value !== null)
  const before = documents.filter(({ kind, metadata }) => kind === 'Job' && metadata.name !== 'valetkey-test')
  const wrong = before.filter(({ metadata }) => {
    const { 'helm.sh/hook-weight': weight, ...others } = metadata.annotations ?? {}
    return weight === undefined || !isDeepStrictEqual(others, Object.fromEntries(given))
  })
  const complaints = wrong.map(({ metadata }) => `${metadata.name} has ${JSON.stringify(metadata.annotations)}`)
  return before.length < 3 ? [...complaints, `only ${before.length} jobs`] : complaints
}
