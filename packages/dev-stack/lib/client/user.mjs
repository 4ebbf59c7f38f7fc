// A user with an account and a browser without JavaScript.
import { createHttpBrowser } from './http-browser.mjs'

/** @typedef {{ username: string, password: string }} Account */

/**
 * @param {string} issuer
 * @param {Account} account
 * @param {Record<string, string>} [headers] of every request
 */
export function simulateUser(issuer, { username, password }, headers = {}) {
  const browser = createHttpBrowser(issuer, headers)

  /**
   * Opens an address, and signs in if asked.
   * @param {URL | string} address
   */
  async function open(address) {
    const page = await browser.open(address)
    return page.html.includes('name="password"') ? browser.submit(page, { username, password }) : page
  }

  /**
   * @param {URL | string} address
   * @param {'allow' | 'deny'} decision
   */
  async function answer(address, decision) {
    const page = await open(address)
    return page.status === 0 ? page : browser.submit(page, { ...allTicked(page.html), decision })
  }

  return {
    browser,
    open,

    /**
     * Opens the authorization request of an app, signs in if asked, ticks all optional scopes and decides if asked.
     * @param {URL | string} address
     * @param {'allow' | 'deny'} decision
     * @returns {Promise<URL>} the final address
     */
    async decide(address, decision) {
      return (await answer(address, decision)).url
    },

    /**
     * Allows the authorization request of an app. @returns the authorization code
     * @param {URL | string} address
     */
    async code(address) {
      const { url, status, html } = await answer(address, 'allow')
      const code = url.searchParams.get('code')
      if (code === null) throw new Error(`no code at ${url} (${status}): ${html.slice(0, 500)}`)
      return code
    }
  }
}

/** @param {string} html @returns {Record<string, string>} */
function allTicked(html) {
  const boxes = html.matchAll(/<input type="checkbox"[^>]* name="([^"]*)"/g)
  return Object.fromEntries([...boxes].map(([, name = '']) => [name, 'on']))
}
