import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { PagesWorld } from './pages-world.js'
import { type Account, press } from './walk.js'

export type Words = Readonly<Record<string, string>>

/** A page in one of its states, and the steps to it in a new browser. */
export type Scene = {
  name: string
  /** The signed-in user; undefined without a session. */
  by?: 'alice' | 'newcomer' | 'developer'
  /** A message that only this state shows, to check that the right state is open. */
  says: string
  open(page: Page, world: PagesWorld, words: Words): Promise<unknown>
}

export function wordsOf(language: string): Words {
  const file = new URL(`../../services/authorization-server/messages/${language}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Words
}

/** The longest part of a message without placeholders. A text that is no message id is returned unchanged. */
export function wordsIn(says: string, words: Words): string {
  const parts = (words[says] ?? says).replace(/<[^>]*>/g, '').split(/[{}]/)
  return parts.toSorted((one, other) => other.length - one.length)[0]?.trim() ?? ''
}

export async function signIn(page: Page, { username, password }: Account, words: Words): Promise<void> {
  await page.getByLabel(words['login.username'] ?? '').fill(username)
  await page.getByLabel(words['login.password'] ?? '').fill(password)
  await press(page, words['login.submit'] ?? '')
}

/** A page of the account, by its address. */
export const ownPage = (address: string) => (page: Page, world: PagesWorld) => page.goto(world.at.issuer + address)
