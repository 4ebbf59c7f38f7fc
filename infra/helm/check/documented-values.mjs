// The table of docs/kubernetes.md, "Wishes": each row's values.
import { readFileSync } from 'node:fs'

const page = new URL('../../../docs/kubernetes.md', import.meta.url)

/** @returns {Promise<Record<string, object>>} values by wish */
export async function readDocumentedValues() {
  const { parse } = await import('yaml')
  const [, section = ''] = /^## Wishes\n([\s\S]*?)^## /m.exec(readFileSync(page, 'utf8')) ?? []
  const rows = [...section.matchAll(/^\| (.+?) \| `(.+)` \|$/gm)]
  return Object.fromEntries(rows.map(([, wish, values]) => [wish.replaceAll('`', ''), parse(values)]))
}

/** @returns {Promise<object>} the values of the section "Argo CD and Flux" */
export async function readOtherHooks() {
  const { parse } = await import('yaml')
  const [, block = ''] = /^## Argo CD and Flux\n[\s\S]*?```yaml\n([\s\S]*?)```/m.exec(readFileSync(page, 'utf8')) ?? []
  return parse(block)
}
