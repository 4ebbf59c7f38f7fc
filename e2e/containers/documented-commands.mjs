// Reads the commands of documentation pages.
import { readFileSync } from 'node:fs'

const docs = new URL('../../docs/', import.meta.url)

/**
 * The command blocks in a section, by the bold words at the start of their paragraph; '' for blocks before the first.
 * @returns {Record<string, string[]>}
 */
export function documentedCommands(page, heading) {
  const text = readFileSync(new URL(page, docs), 'utf8')
  const [section] = (`\n${text}`.split(`\n${heading}\n`)[1] ?? '').split(/\n#+ /)
  const paragraphs = section.split(/\n(?=\*\*)/).map((paragraph) => {
    const [, title = ''] = /^\*\*(.+?)\*\*/.exec(paragraph) ?? []
    return [title, [...paragraph.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block)]
  })
  return Object.fromEntries(paragraphs.filter(([, blocks]) => blocks.length > 0))
}

/** Replaces the placeholders of a documented command. */
export function withNames(commands, names) {
  return commands.replace(/\b[A-Za-z_]+\b/g, (word) => names[word] ?? word)
}
