/** Refresh tokens that another server issued. `refresh_tokens` has them as it has those of this server. */
export type ForeignRefreshTokens = {
  /**
   * Called for values that have not the form of refresh tokens of this server.
   * @returns the part of the value that `refresh_tokens` has the hash of; undefined if no such token is known
   */
  findHashedPart: (value: string) => Promise<string | undefined>
}
