// Helm on one chart: its complaints and the rendered documents.
import { spawnSync } from 'node:child_process'
import { findHelm } from './tools.mjs'

export async function createHelm(chart) {
  const program = await findHelm()
  const { parseAllDocuments } = await import('yaml')

  function run(args) {
    const result = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 })
    if (result.error) throw new Error(`helm cannot be run (${result.error.message}); HELM may name one`)
    return { ...result, complaints: result.status === 0 ? [] : [result.stdout + result.stderr] }
  }

  return {
    lint: (args) => run(['lint', '--strict', chart, ...args]).complaints,

    /** @returns {{ documents: { apiVersion: string, kind: string }[], complaints: string[] }} */
    render(args) {
      const { stdout, complaints } = run(['template', 'valetkey', chart, '--namespace', 'valetkey', ...args])
      if (complaints.length > 0) return { documents: [], complaints }
      // Kubernetes reads YAML 1.1, where 0440 is octal.
      const parsed = parseAllDocuments(stdout, { version: '1.1' })
      const unreadable = parsed.flatMap(({ errors }) => errors.map(({ message }) => message))
      const documents = parsed.map((document) => document.toJS()).filter((document) => document !== null)
      return { documents, complaints: documents.length > 0 ? unreadable : ['nothing was rendered'] }
    }
  }
}
