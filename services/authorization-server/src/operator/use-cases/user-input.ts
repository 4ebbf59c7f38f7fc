import { isMailAddress, type PasswordProblem, problemOfUserName, type UserNameProblem } from '@valetkey/sign-in-rules'
import { type NewPasswordRules, problemOfNewPassword } from '../../platform/passwords/new-password.js'
import { AdministrationError } from './administration-error.js'
import { requireName } from './name-of-record.js'

const PASSWORD_PROBLEMS: Readonly<Record<PasswordProblem, (rules: NewPasswordRules) => string>> = {
  too_short: ({ minLength }) => `must have at least ${minLength} characters`,
  too_long: () => 'must have at most 1024 bytes',
  not_typeable: () => 'must have no control characters',
  common: () => 'is on the list of common passwords',
  repeated: () => 'repeats a short or common part',
  sequence: () => 'is a sequence of neighbouring letters, digits or keys',
  contains_name: () => 'consists mainly of the user name, the product name or the host name'
}

/** @throws {AdministrationError} naming the rule that the password breaks */
export async function requireNewPassword(password: string, username: string, rules: NewPasswordRules): Promise<string> {
  const problem = await problemOfNewPassword(password, username, rules)
  if (problem === undefined) return password
  throw new AdministrationError('invalid', `the password ${PASSWORD_PROBLEMS[problem](rules)}`)
}

export function requireEmail(given: string): string {
  const email = given.trim()
  if (isMailAddress(email)) return email
  throw new AdministrationError('invalid', 'the e-mail address must be one address, such as bob@example.com')
}

/** A new user name, as it will be shown. @throws {AdministrationError} naming the character that it must not have */
export function requireUserName(given: string, what = 'a user name'): string {
  const username = requireName(given, what)
  const problem = problemOfUserName(username)
  if (problem === undefined) return username
  throw new AdministrationError('invalid', `${what} ${explainUserName(problem)}`)
}

function explainUserName(problem: UserNameProblem): string {
  switch (problem.kind) {
    case 'not_shown':
      return `must not contain ${problem.character}, which is not shown`
    case 'unassigned':
      return `must not contain ${problem.character}, which has no meaning in Unicode`
    case 'too_long':
      return 'is too long when its ligatures are written out'
  }
}
