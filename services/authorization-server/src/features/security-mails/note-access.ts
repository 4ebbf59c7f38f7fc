import type { BeforeAllow } from '../../browser/consent/before-allow.js'
import { describeBrowser } from '../../browser/session/describe-browser.js'
import type { SecurityMailStore } from './security-mail-store.js'

/**
 * Notes the first access of an app to an API before the code is issued, so that no app has access of which its user is not told.
 * @param wake called if there is a mail to send
 */
export function noteNewAccess(store: Pick<SecurityMailStore, 'noteAccess'>, wake: () => void): BeforeAllow {
  return async (request, { userId, client, audience, scope, authorizationGeneration }) => {
    const { clientId, name, verified, branding } = client
    const browser = describeBrowser(request.headers['user-agent'])
    const app = { clientId, name, publisher: branding.publisher, verified }
    const notice = { kind: 'access', ...app, audience, scope, browser } as const
    const language = request.language.tag
    if (await store.noteAccess({ userId, authorizationGeneration, language, notice })) wake()
  }
}
