import { expect, test } from '@jest/globals'
import { openAppSite } from '../support/app-site.js'
import { formOf } from '../support/form-post.js'
import type { RecoveryStory } from '../support/recovery-story.js'
import { createVisits } from '../support/visits.js'
import { press, signIn } from '../support/walk.js'

export function recovery(story: RecoveryStory): void {
  const { ask, expectInterrupted, finish, expectCodeFor, expectNoAnswer } = story

  test('back after Allow: asked again, and the next Allow gives another code', async () => {
    const page = await ask(story.world.anna)
    await press(page, 'Allow')
    await page.goBack()
    await finish(page, story.world.anna)
    const [first, second] = story.world.site.answers
    expect(second?.get('code')).not.toBe(first?.get('code'))
  })

  test('a double click on Allow: one code', async () => {
    const page = await ask(story.world.anna)
    await page.getByRole('button', { name: 'Allow', exact: true }).dblclick()
    // The address would not do: the second click may cancel the navigation of the first one.
    await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    await expectCodeFor(page, story.world.anna)
    expect(new Set(story.world.site.answers.map((answer) => answer.get('code'))).size).toBe(1)
  })

  test('one Allow form sent in five concurrent requests and once more: the same redirect each time', async () => {
    const page = await ask(story.world.anna)
    const send = await formOf(page, { decision: 'allow' })
    const answers = [...(await Promise.all([send(), send(), send(), send(), send()])), await send()]
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303, 303])
    const locations = new Set(answers.map(({ location }) => location))
    expect(locations.size).toBe(1)
    await page.goto([...locations][0] ?? '')
    await expectCodeFor(page, story.world.anna)
  })

  test('the app could not be reached after Allow: a reload sends it the code', async () => {
    const page = await ask(story.world.anna)
    await story.world.site.close()
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.waitForURL('chrome-error://**')
    await story.world.site.open()
    await page.reload()
    await expectCodeFor(page, story.world.anna)
  })

  test('reload at the app before the code is redeemed: the same code, which works once', async () => {
    const page = await ask(story.world.anna)
    await press(page, 'Allow')
    await page.reload()
    await expectCodeFor(page, story.world.anna)
    expect((await story.world.app.redeem(story.world.site.answers[0])).status).toBe(400)
  })

  test('Allow again after the code was redeemed: asked again, and the first access stays valid', async () => {
    const page = await ask(story.world.anna)
    const send = await formOf(page, { decision: 'allow' })
    const { location } = await send()
    const { accessToken } = await story.world.app.redeem(new URL(location).searchParams)
    const again = await send()
    expect(again).toMatchObject({
      status: 303,
      location: expect.stringContaining(`${story.world.at.issuer}/oauth/authorize?`)
    })
    await page.goto(again.location)
    await finish(page, story.world.anna)
    expect(await story.world.app.list(accessToken)).toEqual(['annas.txt'])
  })

  test('Deny sent twice: the same refusal both times; Allow after Deny: asked again', async () => {
    const page = await ask(story.world.anna)
    const deny = await formOf(page, { decision: 'deny' })
    const allow = await formOf(page, { decision: 'allow' })
    const refusals = await Promise.all([deny(), deny()])
    expect(refusals[1]).toEqual(refusals[0])
    const { origin, searchParams } = new URL(refusals[0]?.location ?? '')
    expect([origin, searchParams.get('error'), searchParams.get('state')]).toEqual([
      story.world.site.origin,
      'access_denied',
      'a-state'
    ])
    await page.goto((await allow()).location)
    await finish(page, story.world.anna)
  })

  test('an hour on the sign-in page: the request continues, because it was not stored', async () => {
    const page = await ask()
    await story.world.letRequestsExpire()
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('an hour on the consent page: asked again with the reason, without signing in', async () => {
    const page = await ask(story.world.anna)
    await story.world.letRequestsExpire()
    await press(page, 'Allow')
    expectNoAnswer()
    // An emulated Redis has lost more than the requests.
    if (story.world.redisIsEmulated) await signIn(page, story.world.anna)
    else expect(await page.getByRole('status').textContent()).toContain('Please decide again.')
    await finish(page, story.world.anna)
  })

  test('cookies deleted on the sign-in page: a message, and the same request starts again', async () => {
    const page = await ask()
    await page.context().clearCookies()
    await signIn(page, story.world.anna)
    expect(await page.getByRole('status').textContent()).toContain('Your browser sent no cookie for this sign-in.')
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('cookies deleted on the consent page: no code; after a sign-in the request continues', async () => {
    const page = await ask(story.world.anna)
    await page.context().clearCookies()
    await press(page, 'Allow')
    expectNoAnswer()
    await expectInterrupted(page)
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test.each([
    { name: 'an https app', tls: true, host: undefined },
    { name: 'an app on a loopback address', tls: false, host: '127.0.0.1' },
    { name: 'an app on the IPv6 loopback address', tls: false, host: '::1' }
  ])('the callback of $name redirects to another origin: the Allow button is not blocked', async ({ tls, host }) => {
    const end = await openAppSite({ tls, host })
    const site = await openAppSite({ tls, host, hopsTo: () => `${end.origin}/done` })
    const app = await story.world.register({ name: 'Hopper', redirectUri: site.redirectUri })
    const hopping = createVisits(() => ({
      browser: story.browser,
      origins: [story.world.at.issuer, site.origin, end.origin]
    }))
    const page = await hopping.open({ ignoreHTTPSErrors: true })
    await page.goto(app.request())
    await signIn(page, story.world.anna)
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.waitForURL(`${end.origin}/done?**`)
    expect(await app.redeem(site.answers.at(-1))).toMatchObject({ status: 200 })
    expect(await hopping.close()).toEqual([])
    await Promise.all([site.close(), end.close()])
  })

  test('all processes restart during a sign-in page and a consent page: both requests continue', async () => {
    const [signingIn, consenting] = [await ask(), await ask(story.world.bert, 'berts-state')]
    await story.world.restart()
    await signIn(signingIn, story.world.anna)
    await finish(signingIn, story.world.anna)
    await press(consenting, 'Allow')
    // An emulated Redis has lost bert's request.
    if (story.world.redisIsEmulated) {
      await story.expectAskedAgain(consenting, story.world.bert)
      await press(consenting, 'Allow')
    }
    await expectCodeFor(consenting, story.world.bert, 'berts-state')
  })
}
