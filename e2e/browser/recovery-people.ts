import { expect, test } from '@jest/globals'
import { formOf } from '../support/form-post.js'
import type { RecoveryStory } from '../support/recovery-story.js'
import { createVisits } from '../support/visits.js'
import { headingOf, press, signIn } from '../support/walk.js'

export function recoveryPeople(story: RecoveryStory): void {
  const { ask, askInNewTab, expectConsent, expectSignIn, finish, expectNoAnswer } = story

  test('two tabs, decided in the other order: each redirect has its own state and code', async () => {
    const first = await ask(story.world.anna, 'first')
    const second = await askInNewTab(first, 'second')
    await finish(second, story.world.anna, 'second')
    await finish(first, story.world.anna, 'first')
  })

  test('Deny in one tab, Allow in the other: each request has its own response', async () => {
    const first = await ask(story.world.anna, 'first')
    const second = await askInNewTab(first, 'second')
    await press(first, 'Deny')
    await finish(second, story.world.anna, 'second')
    expect(story.world.site.answers.map((answer) => [answer.get('state'), answer.get('error')])).toEqual([
      ['first', 'access_denied'],
      ['second', null]
    ])
  })

  test('two tabs at the sign-in page: after the first sign-in, the second form continues as this user', async () => {
    const first = await ask(undefined, 'first')
    const second = await askInNewTab(first, 'second')
    await signIn(second, story.world.anna)
    await signIn(first, story.world.anna)
    await finish(first, story.world.anna, 'first')
    await finish(second, story.world.anna, 'second')
  })

  test('anna is asked in one tab, bert signs in in another: her Allow gives no code, and bert is asked by name', async () => {
    const annas = await ask(story.world.anna, 'annas')
    const send = await formOf(annas, { decision: 'allow' })
    const berts = await askInNewTab(annas, 'berts')
    await press(berts, 'Use another account')
    await expectSignIn(berts)
    await signIn(berts, story.world.bert)
    await expectConsent(berts, story.world.bert)

    expect((await send()).location).toMatch(`${story.world.at.issuer}/oauth/authorize?`)
    await press(annas, 'Allow')
    expectNoAnswer()
    await finish(annas, story.world.bert, 'annas')
    await finish(berts, story.world.bert, 'berts')
  })

  test('anna has allowed, then bert signs in in her browser: her form sent again gives no code to bert', async () => {
    const page = await ask(story.world.anna)
    const send = await formOf(page, { decision: 'allow' })
    const { location } = await send()
    const tab = await askInNewTab(page, 'berts')
    await press(tab, 'Use another account')
    await signIn(tab, story.world.bert)
    expect((await send()).location).toMatch(`${story.world.at.issuer}/oauth/authorize?`)
    expect(await story.world.app.redeem(new URL(location).searchParams)).toMatchObject({ files: ['annas.txt'] })
  })

  test('back to the sign-in page after signing in: continues to the consent page without a second sign-in', async () => {
    const page = await ask()
    const send = await formOf(page, story.world.bert)
    await signIn(page, story.world.anna)
    await page.goBack()
    await expectConsent(page, story.world.anna)
    // The first user's form is sent while another user is signed in: that user stays signed in, and the page has their name.
    await page.goto((await send()).location)
    await finish(page, story.world.anna)
  })

  test('signed out everywhere in another browser: Allow gives no code; after a sign-in the request continues', async () => {
    const page = await ask(story.world.anna)
    const elsewhere = await story.visits.open()
    await elsewhere.goto(`${story.world.at.issuer}/login`)
    await signIn(elsewhere, story.world.anna)
    await press(elsewhere, 'Sign out everywhere')
    await press(page, 'Allow')
    expectNoAnswer()
    await expectSignIn(page)
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('signed out in another tab: Allow gives no code; after a sign-in the request continues', async () => {
    const page = await ask(story.world.anna)
    const tab = await page.context().newPage()
    await tab.goto(`${story.world.at.issuer}/account/apps`)
    await press(tab, 'Sign out')
    await press(page, 'Allow')
    expectNoAnswer()
    await expectSignIn(page)
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('her consent address in a browser without a session: the user there signs in and is asked; hers stays valid', async () => {
    const annas = await ask(story.world.anna)
    const other = await story.visits.open()
    await other.goto(annas.url())
    await expectSignIn(other)
    await signIn(other, story.world.bert)
    await finish(other, story.world.bert)
    await finish(annas, story.world.anna)
  })

  test("her consent address in another user's browser: that user is asked; hers stays valid", async () => {
    const annas = await ask(story.world.anna)
    const berts = await ask(story.world.bert)
    await berts.goto(annas.url())
    await finish(berts, story.world.bert)
    await finish(annas, story.world.anna)
  })

  test('the native app does not open: Allow again gives the same redirect', async () => {
    const { issuer } = story.world.at
    const native = createVisits(() => ({ browser: story.browser, origins: [issuer, 'com.example.album:'] }))
    const page = await native.open()
    await page.goto(story.world.album.request())
    await signIn(page, story.world.anna)
    const allow = page.getByRole('button', { name: 'Allow', exact: true })
    const redirectAfter = async (press: () => Promise<void>) => {
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await press()
      return (await answered).headers().location ?? ''
    }
    const first = await redirectAfter(() => allow.click())
    // Chromium now asks whether to open the app, and blocks clicks until the user responds, which a test cannot do. A click
    // by a script works; Chromium then logs that a script cannot open the app.
    const noted = page.waitForEvent('console')
    const second = await redirectAfter(() => allow.dispatchEvent('click'))
    expect((await noted).text()).toContain(`Not allowed to launch '${second}'`)
    expect(native.complaints()).toHaveLength(1)
    expect(await headingOf(page)).toBe('Allow Album to use your Files?')
    expect(first).toMatch(/^com\.example\.album:\/signed-in\?code=vk_ac_/)
    expect(second).toBe(first)
    const answer = new URL(first).searchParams
    expect(await story.world.album.redeem(answer)).toMatchObject({ files: ['annas.txt'] })
    expect(await native.close()).toEqual([])
  })
}
