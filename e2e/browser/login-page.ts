import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { injectAxe, violationsOn } from '../support/axe.js'
import { layoutProblems } from '../support/layout.js'
import { signIn as signInTo, type Words, wordsOf } from '../support/scene.js'
import { createVisits } from '../support/visits.js'
import { connect, headingOf, press, signIn } from '../support/walk.js'
import type { Addresses } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

const PROGRAM = path.resolve(import.meta.dirname, '../../examples/login-page/login-page.mjs')
const LOGIN_PORT = 19_000 + Math.floor(Math.random() * 900)
const LOGIN_PAGE = `http://127.0.0.1:${LOGIN_PORT}`
const AT_LOGIN_PAGE = { username: 'alice', password: 'only for this example' }

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** The settings of the stack. */
export const loginPageSettings = {
  LOGIN_HANDOFF_URL: `${LOGIN_PAGE}/sign-in`,
  LOGIN_HANDOFF_ISSUER: LOGIN_PAGE,
  LOGIN_HANDOFF_KEYS: JSON.stringify({ keys: [keys.publicKey.export({ format: 'jwk' })] }),
  LOGIN_HANDOFF_LABEL: 'Example Login'
}

export function loginPage(world: BrowserWorld): void {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-login-page-'))
  let at: Addresses
  let browser: Browser
  let program: ChildProcess | undefined
  const visits = createVisits(() => ({ browser, origins: [at.issuer, at.demoUrl, LOGIN_PAGE] }))

  beforeAll(async () => {
    ;({ at, browser } = world)
    program = await startLoginPage()
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(() => {
    program?.kill()
    rmSync(directory, { recursive: true })
  })

  async function startLoginPage(): Promise<ChildProcess> {
    const keyFile = path.join(directory, 'login.pem')
    writeFileSync(keyFile, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const settings = { VALETKEY_ISSUER: at.issuer, LOGIN_ISSUER: LOGIN_PAGE, LOGIN_PRIVATE_KEY_FILE: keyFile }
    const child = spawn(process.execPath, [PROGRAM], { env: { ...settings, PORT: String(LOGIN_PORT) } })
    await new Promise((resolve, reject) => {
      child.stdout.once('data', resolve)
      child.once('exit', (code) => reject(new Error(`the login page ended with ${code}`)))
    })
    return child
  }

  /** The pages of linking, in one language, each with its name. */
  async function walk(page: Page, words: Words, look: (name: string) => Promise<void>): Promise<void> {
    await page.goto(`${at.issuer}/login/handoff`)
    await page.getByRole('link', { name: 'Cancel' }).click()
    await look('stopped')
    await page.goto(`${at.issuer}/account/sign-ins`)
    await signInTo(page, at, words)
    expect(await headingOf(page)).toBe(words['account.sign_ins'])
    await look('ways')
    await page.goto(`${at.issuer}/login/handoff?purpose=link`)
    await signIn(page, AT_LOGIN_PAGE)
    await look('question')
    await press(page, words['linking.confirm'] ?? '')
    await look('linked')
    await page.locator('form[action$="/unlink"] button').click()
    await page.getByRole('status').waitFor()
  }

  test.each(['en', 'ar', 'de'])('%s: the pages of linking are readable and accessible', async (language) => {
    const page = await visits.open({ locale: language, reducedMotion: 'reduce' })
    const found: Record<string, string[]> = {}
    await walk(page, wordsOf(language), async (name) => {
      await injectAxe(page)
      for (const width of [360, 1280]) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme })
          const problems = [...(await layoutProblems(page)), ...(await violationsOn(page))]
          if (problems.length > 0) found[`${name}, ${width}, ${colorScheme}`] = problems
        }
      }
    })
    expect(found).toEqual({})
  })

  test('a user links it, and then signs in through it up to the files in the app', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/account/sign-ins`)
    await signIn(page, at)
    expect(await headingOf(page)).toBe('Ways to sign in')
    await page.getByRole('link', { name: 'Link Example Login' }).click()
    await signIn(page, AT_LOGIN_PAGE)
    expect(await headingOf(page)).toBe('Link Example Login to your account?')
    expect(await page.getByRole('main').textContent()).toContain('Alice Example')
    await press(page, 'Link')
    expect(await page.getByRole('status').textContent()).toContain('Linked.')
    expect(await page.getByRole('button', { name: 'Unlink Example Login' }).count()).toBe(1)

    const fresh = await visits.open()
    await connect(fresh, at.demoUrl)
    await fresh.getByRole('link', { name: 'Continue with Example Login' }).click()
    await signIn(fresh, AT_LOGIN_PAGE)
    expect(new URL(fresh.url()).origin).toBe(at.issuer)
    expect(fresh.url()).not.toContain('assertion')
    await press(fresh, 'Allow')
    expect(await headingOf(fresh)).toBe('Your files')
  })
}
