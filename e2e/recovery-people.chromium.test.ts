import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { launchChromium } from './support/chromium.js'
import { formOf } from './support/form-post.js'
import { recoverySteps } from './support/recovery-steps.js'
import { createRecoveryWorld, type RecoveryWorld } from './support/recovery-world.js'
import { createVisits } from './support/visits.js'
import { headingOf, press, signIn } from './support/walk.js'

describe('two tabs, two people, two browsers: no code for the wrong person', () => {
  let world: RecoveryWorld
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [world.at.issuer, world.site.origin, 'com.example.album:'] }))
  const { ask, askInNewTab, expectConsent, expectSignIn, finish, expectNoAnswer } = recoverySteps(() => ({
    world,
    visits
  }))

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([createRecoveryWorld(), launchChromium()])
  }, 90_000)

  beforeEach(() => {
    world.site.answers.length = 0
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await world?.dispose()
  })

  test('two tabs, answered in the other order: each answer has its own state and its own code', async () => {
    const first = await ask(world.anna, 'first')
    const second = await askInNewTab(first, 'second')
    await finish(second, world.anna, 'second')
    await finish(first, world.anna, 'first')
  })

  test('Deny in one tab, Allow in the other: each request has its own answer', async () => {
    const first = await ask(world.anna, 'first')
    const second = await askInNewTab(first, 'second')
    await press(first, 'Deny')
    await finish(second, world.anna, 'second')
    expect(world.site.answers.map((answer) => [answer.get('state'), answer.get('error')])).toEqual([
      ['first', 'access_denied'],
      ['second', null]
    ])
  })

  test('two tabs at the sign-in page: the second to be sent finds the person signed in, and goes on', async () => {
    const first = await ask(undefined, 'first')
    const second = await askInNewTab(first, 'second')
    await signIn(second, world.anna)
    await signIn(first, world.anna)
    await finish(first, world.anna, 'first')
    await finish(second, world.anna, 'second')
  })

  test('anna is asked in one tab, bert signs in in another: her Allow gives no code; he is asked, by his name', async () => {
    const annas = await ask(world.anna, 'annas')
    const send = await formOf(annas, { decision: 'allow' })
    const berts = await askInNewTab(annas, 'berts')
    await press(berts, 'Use another account')
    await expectSignIn(berts)
    await signIn(berts, world.bert)
    await expectConsent(berts, world.bert)

    expect((await send()).location).toMatch(`${world.at.issuer}/oauth/authorize?`)
    await press(annas, 'Allow')
    expectNoAnswer()
    await finish(annas, world.bert, 'annas')
    await finish(berts, world.bert, 'berts')
  })

  test('anna has allowed, then bert signs in in her browser: her form sent again does not give him her code', async () => {
    const page = await ask(world.anna)
    const send = await formOf(page, { decision: 'allow' })
    const { location } = await send()
    const tab = await askInNewTab(page, 'berts')
    await press(tab, 'Use another account')
    await signIn(tab, world.bert)
    expect((await send()).location).toMatch(`${world.at.issuer}/oauth/authorize?`)
    expect(await world.app.redeem(new URL(location).searchParams)).toMatchObject({ files: ['annas.txt'] })
  })

  test('back to the sign-in page after signing in: on to the consent page, without a second sign-in', async () => {
    const page = await ask()
    const send = await formOf(page, world.bert)
    await signIn(page, world.anna)
    await page.goBack()
    await expectConsent(page, world.anna)
    // The old form sent again, by somebody else: whoever is signed in stays so, and is named.
    await page.goto((await send()).location)
    await finish(page, world.anna)
  })

  test('signed out everywhere in another browser: Allow gives no code; sign in, and go on', async () => {
    const page = await ask(world.anna)
    const elsewhere = await visits.open()
    await elsewhere.goto(`${world.at.issuer}/login`)
    await signIn(elsewhere, world.anna)
    await press(elsewhere, 'Sign out everywhere')
    await press(page, 'Allow')
    expectNoAnswer()
    await expectSignIn(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('signed out in another tab: Allow gives no code; sign in, and go on', async () => {
    const page = await ask(world.anna)
    const tab = await page.context().newPage()
    await tab.goto(`${world.at.issuer}/account/apps`)
    await press(tab, 'Sign out')
    await press(page, 'Allow')
    expectNoAnswer()
    await expectSignIn(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('her consent address in a browser where nobody is signed in: they sign in and are asked; hers stays good', async () => {
    const annas = await ask(world.anna)
    const other = await visits.open()
    await other.goto(annas.url())
    await expectSignIn(other)
    await signIn(other, world.bert)
    await finish(other, world.bert)
    await finish(annas, world.anna)
  })

  test('her consent address in the browser of somebody else: asked for themselves; hers stays good', async () => {
    const annas = await ask(world.anna)
    const berts = await ask(world.bert)
    await berts.goto(annas.url())
    await finish(berts, world.bert)
    await finish(annas, world.anna)
  })

  test('the app that has to open does not: Allow once more gives the very same redirect', async () => {
    const page = await visits.open()
    await page.goto(world.album.request())
    await signIn(page, world.anna)
    const allow = page.getByRole('button', { name: 'Allow', exact: true })
    const redirectAfter = async (press: () => Promise<void>) => {
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await press()
      return (await answered).headers().location ?? ''
    }
    const first = await redirectAfter(() => allow.click())
    // Chromium now asks whether it may open the app, and the page takes no click until somebody has answered; nobody can here. One
    // that a script makes is sent, and Chromium notes that it opens no app for a script.
    const noted = page.waitForEvent('console')
    const second = await redirectAfter(() => allow.dispatchEvent('click'))
    expect((await noted).text()).toContain(`Not allowed to launch '${second}'`)
    expect(visits.complaints()).toHaveLength(1)
    expect(await headingOf(page)).toBe('Allow Album?')
    expect(first).toMatch(/^com\.example\.album:\/signed-in\?code=vk_ac_/)
    expect(second).toBe(first)
    const answer = new URL(first).searchParams
    expect(await world.album.redeem(answer)).toMatchObject({ files: ['annas.txt'] })
  })
})
