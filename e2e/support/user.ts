import { createHttpBrowser, type Page } from '../../packages/dev-stack/lib/client/http-browser.mjs'

export type SimulatedUser = {
  /** Opens the app's authorization request, signs in if asked, ticks all optional scopes and decides. Returns the final address. */
  decide(address: URL, decision: 'allow' | 'deny'): Promise<URL>
}

/** A user with an account and a browser without JavaScript. */
export function simulateUser(issuer: string, account: { username: string; password: string }): SimulatedUser {
  const browser = createHttpBrowser(issuer)

  async function signInIfAsked(page: Page): Promise<Page> {
    return page.html.includes('name="password"') ? browser.submit(page, account) : page
  }

  return {
    async decide(address, decision) {
      const consent = await signInIfAsked(await browser.open(address))
      return (await browser.submit(consent, { ...allTicked(consent.html), decision })).url
    }
  }
}

function allTicked(html: string): Record<string, string> {
  const boxes = html.matchAll(/<input type="checkbox"[^>]* name="([^"]*)"/g)
  return Object.fromEntries([...boxes].map(([, name = '']) => [name, 'on']))
}
