import type { Need, Outcome, Profile } from './outcome.js'
import type { Session } from './session.js'

export type Check = {
  /** Stable: files with expected failures name it. */
  id: string
  /** What the server must do. */
  title: string
  /** The specification and section that requires it. */
  section: string
  level: 'MUST' | 'SHOULD'
  profiles: readonly Profile[]
  needs?: readonly Need[]
  /** What to change in a server that fails. */
  hint: string
  /** @throws NotApplicable, CouldNotTest */
  run(session: Session): Outcome | Promise<Outcome>
}
