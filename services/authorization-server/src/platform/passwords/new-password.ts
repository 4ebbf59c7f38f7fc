import { findPasswordProblem, type PasswordProblem } from '@valetkey/sign-in-rules'

export type NewPasswordRules = {
  /** Code points, `PASSWORD_MIN_LENGTH`. */
  minLength: number
  /** The product name and the host of the issuer. */
  names: readonly string[]
}

/**
 * Checks a new password of this user.
 * @returns undefined if the password is good
 */
export async function problemOfNewPassword(
  password: string,
  username: string,
  { minLength, names }: NewPasswordRules
): Promise<PasswordProblem | undefined> {
  // Loaded by the first new password: the list takes several megabytes of memory.
  const { default: common } = await import('fxa-common-password-list')
  return findPasswordProblem(password, {
    minLength,
    names: [username, ...names],
    isCommon: (candidate) => common.test(candidate)
  })
}

/** @param issuer undefined on a command line without `ISSUER` */
export function newPasswordRules(settings: {
  passwordMinLength: number
  productName: string
  issuer: string | undefined
}): NewPasswordRules {
  const { passwordMinLength, productName, issuer } = settings
  const hosts = issuer === undefined ? [] : [new URL(issuer).hostname]
  return { minLength: passwordMinLength, names: [productName, ...hosts] }
}
