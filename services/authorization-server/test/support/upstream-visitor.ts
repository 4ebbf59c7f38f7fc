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

export type UpstreamVisitor = ReturnType<typeof createUpstreamVisitor>
