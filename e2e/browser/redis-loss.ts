import { expect, test } from '@jest/globals'
import type { RecoveryStory } from '../support/recovery-story.js'
import { headingOf, press, signIn } from '../support/walk.js'

export function redisLoss(story: RecoveryStory): void {
  const { ask, expectAskedAgain, finish, expectNoAnswer } = story

  test('on the sign-in page: the request continues, because nothing was stored', async () => {
    const page = await ask()
    await story.world.loseRedis()
    await signIn(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('between the sign-in and the consent page', async () => {
    const page = await ask()
    // The response to the form sets the session cookie. The next page is requested after the loss.
    await page.route('**/login?**', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch({ maxRedirects: 0 })
      await story.world.loseRedis()
      await route.fulfill({ response })
    })
    await signIn(page, story.world.anna)
    await page.unrouteAll()
    await finish(page, story.world.anna)
  })

  test.each(['Allow', 'Deny'])('on the consent page, before %s', async (button) => {
    const page = await ask(story.world.anna)
    await story.world.loseRedis()
    await press(page, button)
    expectNoAnswer()
    await expectAskedAgain(page, story.world.anna)
    await finish(page, story.world.anna)
  })

  test('on the consent page, before a reload', async () => {
    const page = await ask(story.world.anna)
    await story.world.loseRedis()
    await page.reload()
    await finish(page, story.world.anna)
  })

  test('after Allow: back leads to the consent page of the same request', async () => {
    const page = await ask(story.world.anna)
    await press(page, 'Allow')
    await story.world.loseRedis()
    await page.goBack()
    await finish(page, story.world.anna)
  })

  test('the consent page without a request in its address says how to continue', async () => {
    const page = await ask(story.world.anna)
    await page.goto(`${story.world.at.issuer}/consent`)
    expect(await headingOf(page)).toBe('This request is no longer available')
    expect(await page.getByRole('main').textContent()).toContain('Go back to the app you came from')
  })
}
