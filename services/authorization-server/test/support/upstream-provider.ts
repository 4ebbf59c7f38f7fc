import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Provider, { type Configuration } from 'oidc-provider'

export const UPSTREAM = { clientId: 'valetkey', clientSecret: 'a secret of the upstream provider' }

/**
 * The package oidc-provider with one client. Its user is `person` of the moment: the interaction signs in and consents without
 * a page.
 * @param issuer of Valetkey, for the registered addresses
 * @param logoutUrl where logout tokens go; the provider calls it over the network
 */
export async function startUpstreamProvider(issuer: string, logoutUrl?: string) {
  let server: Server | undefined
  let person = 'person-1'
  const users = new Map<string, Record<string, unknown>>()
  const listening = createServer((request, response) => server?.emit('request', request, response))
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  const configuration: Configuration = {
    clients: [
      {
        client_id: UPSTREAM.clientId,
        client_secret: UPSTREAM.clientSecret,
        redirect_uris: [`${issuer}/login/with/upstream/callback`],
        post_logout_redirect_uris: [`${issuer}/login?done=signed_out`],
        ...(logoutUrl !== undefined && { backchannel_logout_uri: logoutUrl, backchannel_logout_session_required: true })
      }
    ],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'groups'] },
    cookies: { keys: ['a key of the upstream provider'] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...users.get(accountId) })
    }),
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({
        clientId: context.oidc.client?.clientId,
        accountId: context.oidc.session?.accountId
      })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` }
  }
  const provider = new Provider(address, configuration)
  provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next()
    await provider.interactionFinished(context.req, context.res, { login: { accountId: person } })
    context.respond = false
  })
  server = createServer(provider.callback())

  return {
    issuer: address,
    /** The user who signs in from now on. */
    is(subject: string, claims: Record<string, unknown>) {
      person = subject
      users.set(subject, claims)
    },
    async close() {
      listening.closeAllConnections()
      await new Promise((resolve) => listening.close(resolve))
      await sleep(0)
    }
  }
}

export type UpstreamProvider = Awaited<ReturnType<typeof startUpstreamProvider>>

/** A browser at the provider: keeps its cookies, and follows redirects until they leave the provider. */
export function createUpstreamVisitor() {
  const cookies = new Map<string, string>()

  async function request(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  return {
    request,
    /** @returns the first address elsewhere, or the last page */
    async follow(url: string, init?: RequestInit): Promise<{ url: string; body: string }> {
      const { origin } = new URL(url)
      let response = await request(url, init)
      let at = url
      for (let location = response.headers.get('location'); location !== null; ) {
        at = new URL(location, at).href
        if (new URL(at).origin !== origin) return { url: at, body: '' }
        response = await request(at)
        location = response.headers.get('location')
      }
      return { url: at, body: await response.text() }
    }
  }
}
