import type { Feature } from '../../feature.js'
import { evaluatePages } from './evaluate-pages.js'
import { readOwnPages } from './load-own-pages.js'

/** Pages of the operator in the places of built-in ones (`PAGES_DIR`). */
export const ownPages: Feature = {
  readPages: readOwnPages,
  examineSettings: ({ pagesDir }, { pages }) => [evaluatePages(pagesDir, pages)]
}
