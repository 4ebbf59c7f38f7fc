import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { featureOfMessage } from '../../../../packages/dev-stack/lib/checks/feature-names.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

export function filesUnder(folder: string, extension: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => path.join(root, folder, name))
}

export const readMessages = (file: string): Record<string, string> => JSON.parse(readFileSync(file, 'utf8'))

export const english = readMessages(path.join(root, 'messages/en.json'))

/**
 * Keys of messages, sorted: those in the English file, and those that templates and code use.
 * @param feature whose messages; undefined for those of the core
 * @param composed keys that no template and no code contains literally
 */
export function messagesOf(
  feature: string | undefined,
  composed: readonly string[] = []
): { present: string[]; used: string[] } {
  const sources = [...filesUnder('views', '.hbs'), ...filesUnder('src', '.ts')].map((file) =>
    readFileSync(file, 'utf8')
  )
  const written = sources.flatMap((source) => source.match(/(?<=["'])[a-z_]+(?:\.[a-z_0-9]+)+(?=["'])/g) ?? [])
  const used = new Set([...written.filter((key) => key in english), ...composed])
  const own = (keys: Iterable<string>) => [...keys].filter((key) => featureOfMessage(key) === feature).toSorted()
  return { present: own(Object.keys(english)), used: own(used) }
}
