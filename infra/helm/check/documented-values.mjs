// What pages say about the chart: the values of each row of docs/kubernetes.md, "Wishes", and commands.
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

const pages = ['docs/install.md', 'docs/kubernetes.md', 'docs/upgrade.md', 'infra/helm/valetkey/README.md']

/** @returns {string[]} commands that install or upgrade, but wait for a job no longer than it may take */
export function impatientCommands(timeoutSeconds) {
  return pages.flatMap((file) => {
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    const commands = text.match(/helm (?:install|upgrade) [^`\n]+/g) ?? [`${file} has no command`]
    return commands.filter((command) => {
      const [, minutes = '5'] = / --timeout (\d+)m\b/.exec(command) ?? []
      return Number(minutes) * 60 <= timeoutSeconds
    })
  })
}
