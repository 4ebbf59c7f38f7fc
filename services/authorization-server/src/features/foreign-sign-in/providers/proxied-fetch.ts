import { EnvHttpProxyAgent, fetch as fetchBy } from 'undici'

export type Fetch = (url: string, options: RequestInit) => Promise<Response>

/** `HTTPS_PROXY` and `NO_PROXY`. */
export type ProxySettings = { url: string; exceptions: string }

/**
 * `fetch` through a proxy; that of Node 20 ignores `HTTPS_PROXY`. Requests to `http:` addresses, which are on this machine, never
 * go through it.
 * @param settings undefined without a proxy
 */
export function createFetch(settings: ProxySettings | undefined): Fetch {
  if (settings === undefined) return fetch
  const { url: httpsProxy, exceptions: noProxy } = settings
  const dispatcher = new EnvHttpProxyAgent({ httpsProxy, httpProxy: '', noProxy })
  return async (url, options) => {
    if (!url.startsWith('https:')) return fetch(url, options)
    const response = await fetchBy(url, { ...options, dispatcher } as Parameters<typeof fetchBy>[1])
    return response as unknown as Response
  }
}
