/** One page of a list. */
export type Page = {
  /** The position that the list returned with the previous page. */
  after?: string | undefined
  limit: number
}
