// Signs a user in and allows a client once, through the pages. Afterwards the same request returns codes without a page.
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'

/** @returns the value of the Cookie header of that session */
export async function signInAndAllow(authorizeUrl, account) {
  const user = simulateUser(authorizeUrl, account)
  await user.code(authorizeUrl)
  return user.browser.cookie()
}
