import type { Page } from '../../storage/postgres/page.js'

/** A page of a list; `next` is the position of the next page, undefined on the last page. */
export type PageOf<Entry> = { entries: readonly Entry[]; next: string | undefined }

/**
 * Reads a page. It reads one entry more than `limit`, to find out whether there is another page.
 * @param positionOf the position of an entry in the order of the list
 */
export async function readPage<Entry>(
  { after, limit }: Page,
  list: (page: Page) => Promise<readonly Entry[]>,
  positionOf: (entry: Entry) => string
): Promise<PageOf<Entry>> {
  const found = await list({ after, limit: limit + 1 })
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  return { entries, next: found.length > limit && last !== undefined ? positionOf(last) : undefined }
}

const AT_ONCE = 1_000

/** Reads all pages of a list. @param most stops with the page that has this entry */
export async function readAllPages<Entry>(
  read: (page: Page) => Promise<PageOf<Entry>>,
  most: number = Number.POSITIVE_INFINITY
): Promise<readonly Entry[]> {
  const all: Entry[] = []
  let after: string | undefined
  do {
    const { entries, next } = await read({ after, limit: AT_ONCE })
    all.push(...entries)
    after = next
  } while (after !== undefined && all.length < most)
  return all
}
