/** A token, and when the response with it arrived. */
export type Answered = { token: string; at: number }
export type Ending = { name: string; at: number }

export type Comparison = {
  /** Access tokens of responses that are not active. */
  lostAccess: readonly Answered[]
  /** Newest refresh tokens of responses that are refused. */
  lostRefresh: readonly (Answered & { status: number })[]
  /** Answered endings after which a token is accepted. */
  undone: readonly Ending[]
  /** Statuses of the API to lost access tokens, except 401. */
  accepted: readonly number[]
  /** Statuses of second exchanges, except 400. */
  second: readonly number[]
}
