import type { Page } from 'playwright-core'
import { type Account, press, signIn } from '../walk.js'

/** Opens an authorization request in Chromium, and signs in if asked. */
export async function openRequest(page: Page, request: URL, account: Account): Promise<void> {
  await page.goto(request.href)
  if ((await page.getByLabel('Password').count()) > 0) await signIn(page, account)
}

/** Allows the app all requested scopes, and returns the query of the redirect. */
export async function allow(page: Page, request: URL, account: Account): Promise<URLSearchParams> {
  await openRequest(page, request, account)
  for (const box of await page.getByRole('checkbox').all()) await box.check()
  await press(page, 'Allow')
  return new URL(page.url()).searchParams
}
