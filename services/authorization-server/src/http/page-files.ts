import { readFileSync } from 'node:fs'
import path from 'node:path'
import { readBuiltInTemplates, type Templates, VIEWS } from './templates.js'

export type PageFiles = {
  templates: Templates
  stylesheet: string
  /** Names of the operator's own files. */
  own: readonly string[]
  /** Parts of them that browsers will not load or run. */
  warnings: readonly string[]
}

export const STYLESHEET = 'style.css'

/** Returns the built-in files with those of the operator in their places. @throws {ConfigurationError} for mistakes */
export type ReadPages = (directory: string, builtIn: PageFiles) => PageFiles

/** The built-in templates and stylesheet. @param features may replace them by files of the directory, if there is one */
export function readPageFiles(
  directory: string | undefined,
  features: readonly { readPages?: ReadPages }[]
): PageFiles {
  const stylesheet = readFileSync(path.join(VIEWS, STYLESHEET), 'utf8')
  let files: PageFiles = { templates: readBuiltInTemplates(), stylesheet, own: [], warnings: [] }
  if (directory === undefined) return files
  for (const { readPages } of features) files = readPages?.(directory, files) ?? files
  return files
}
