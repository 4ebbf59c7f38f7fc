import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
export const files = listFiles('')

function listFiles(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', '.git', '.data', 'dist', 'artifacts', 'secrets'].includes(entry.name)) return []
    const name = path.posix.join(folder, entry.name)
    return entry.isDirectory() ? listFiles(name) : [name]
  })
}

/**
 * The lines of all code in a page, spans and blocks. A backslash at the end of a line joins it with the next. Without
 * TypeScript, which a compiler checks, and without names of called methods, because `response.json()` is no file.
 */
export function codeOf(page: string): string[][] {
  const text = read(page)
    .replaceAll('\\\n', ' ')
    .replace(/\.\w+\(/g, ' (')
  const blocks = [...text.matchAll(/^ *```(.*)\n([\s\S]*?)^ *```/gm)]
    .filter(([, language]) => language !== 'ts')
    .flatMap(([, , block = '']) => block.split('\n'))
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...blocks, ...spans].map((line) => line.split(/[\s'"()[\],]+/).filter((word) => word !== ''))
}

const withoutBlocks = (text: string): string => text.replace(/^ *```[\s\S]*?^ *```/gm, '')

export function linksOf(page: string): string[] {
  const prose = withoutBlocks(read(page)).replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target).filter((link) => !/^\w+:/.test(link))
}

/** The anchors that GitHub creates for the headings of a page. */
export function anchorsOf(page: string): string[] {
  const headings = [...withoutBlocks(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
  )
}

/** The cells of every table row between a heading and the next one. */
export function rowsBelow(text: string, heading: string): string[][] {
  const [, section = ''] = text.split(`\n${heading}\n`)
  const [own = ''] = section.split(/\n#+ /)
  return rowsOf(own)
}

/** The cells of every row of the tables with this header, such as `| command | what it does |`, in all pages of `docs/` and `docs/features/`. */
export function rowsUnder(header: string): string[][] {
  const pages = files.filter((file) => /^docs\/(features\/)?[^/]+\.md$/.test(file))
  const tables = pages.flatMap((page) => read(page).match(/(?:^\|.*\n?)+/gm) ?? [])
  return tables.filter((table) => table.startsWith(`${header}\n`)).flatMap(rowsOf)
}

/** The cells of the rows below the first one. */
function rowsOf(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('|') && !/^\|[\s|:-]+\|$/.test(line))
  return rows.slice(1).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  )
}

export const code = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)
export const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)
export const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort()
