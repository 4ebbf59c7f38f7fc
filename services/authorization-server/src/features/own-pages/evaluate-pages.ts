import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { PageFiles } from '../../http/page-files.js'

/** Says which pages are the operator's own, and what browsers will block in them. Mistakes have refused the start. */
export function evaluatePages(
  pagesDir: string | undefined,
  { own, warnings }: Pick<PageFiles, 'own' | 'warnings'>
): Finding {
  const check = 'PAGES_DIR'
  if (pagesDir === undefined) return ok(check, 'is not set: all pages are built in')
  if (own.length === 0) return warning(check, EMPTY)
  if (warnings.length === 0) return ok(check, `replaces ${own.join(', ')}`)
  return warning(check, {
    what: `replaces ${own.join(', ')}; blocked parts: ${warnings.join(', ')}`,
    why: 'The content security policy of the pages blocks them in every browser.',
    fix: 'put styles into style.css, leave out scripts, and set PRODUCT_LOGO for an image'
  })
}

const EMPTY = {
  what: 'has no files',
  why: 'All pages are built in. Perhaps the directory was not mounted.',
  fix: 'mount it, or remove the setting'
}
