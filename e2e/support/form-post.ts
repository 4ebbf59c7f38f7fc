import type { APIResponse, Page } from 'playwright-core'

/** The first form of a page. It can be sent several times. */
export type FormPost = () => Promise<{ status: number; location: string }>

/** Reads the form of the page. It is sent with the current cookies, and redirects are not followed. */
export async function formOf(page: Page, change: Record<string, string>): Promise<FormPost> {
  const form = page.locator('form').first()
  const address = new URL((await form.getAttribute('action')) ?? '', page.url()).href
  const fields: Record<string, string> = {}
  for (const input of await form.locator('input').all()) {
    fields[(await input.getAttribute('name')) ?? ''] = await input.inputValue()
  }
  const headers = { origin: new URL(address).origin, 'sec-fetch-site': 'same-origin' }
  return async () => {
    const options = { form: { ...fields, ...change }, headers, maxRedirects: 0 }
    const response: APIResponse = await page.context().request.post(address, options)
    return { status: response.status(), location: response.headers().location ?? '' }
  }
}
