/** A stretch of a list that is read in pages: what comes after a place in its order. */
export type Page = {
  /** As the list itself named it at the end of the page before. */
  after?: string | undefined
  limit: number
}
