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
  let throughProxy: Promise<Fetch> | undefined
  return async (url, options) => {
    if (!url.startsWith('https:')) return fetch(url, options)
    throughProxy ??= fetchThroughProxy(settings)
    return (await throughProxy)(url, options)
  }
}

/** Loads the library when it is first used: it has more than 100 modules, and most services have no proxy. */
async function fetchThroughProxy({ url: httpsProxy, exceptions: noProxy }: ProxySettings): Promise<Fetch> {
  const { EnvHttpProxyAgent, fetch: fetchBy } = await import('undici')
  const dispatcher = new EnvHttpProxyAgent({ httpsProxy, httpProxy: '', noProxy })
  return async (url, options) => {
    const response = await fetchBy(url, { ...options, dispatcher } as Parameters<typeof fetchBy>[1])
    return response as unknown as Response
  }
}
