import type { StackWorld } from '../stack/use-stack.js'
import { type AppSite, openAppSite } from './app-site.js'
import { registerApp } from './registered-app.js'

/** The app whose callback redirects again has this scheme. */
export const schemeOfRelay = 'com.example.relay:'

/** @property site receives the response and redirects to `end` with the same query */
export type Chain = { site: AppSite; end: string }

export const chainNames = [
  'https to scheme',
  'https to loopback',
  'https to another host',
  'loopback to scheme',
  'loopback to another port'
] as const

type ChainName = (typeof chainNames)[number]

/** Sites whose callbacks redirect to another kind of address. */
export async function openChains({ stack, at }: Pick<StackWorld, 'stack' | 'at'>) {
  const [loopback, host] = await Promise.all([openAppSite(), openAppSite({ tls: true })])
  // The certificate of the test is for any name; `127.0.0.1` is another host than `localhost`.
  const otherHost = host.origin.replace('localhost', '127.0.0.1')
  const scheme = `${schemeOfRelay}/done`
  const ends: Record<ChainName, { tls: boolean; end: string }> = {
    'https to scheme': { tls: true, end: scheme },
    'https to loopback': { tls: true, end: `${loopback.origin}/done` },
    'https to another host': { tls: true, end: `${otherHost}/done` },
    'loopback to scheme': { tls: false, end: scheme },
    'loopback to another port': { tls: false, end: `${loopback.origin}/done` }
  }
  const entries = Object.entries(ends) as [ChainName, (typeof ends)[ChainName]][]
  const chains = new Map<ChainName, Chain>(
    await Promise.all(
      entries.map(
        async ([name, { tls, end }]) => [name, { site: await openAppSite({ tls, hopsTo: () => end }), end }] as const
      )
    )
  )
  const sites = [...chains.values()].map(({ site }) => site)
  return {
    origins: [...sites.map(({ origin }) => origin), loopback.origin, otherHost],
    /** A new app at the first site of the chain, which remembers consent. */
    async prepare(name: ChainName) {
      const chain = chains.get(name) as Chain
      const options = ['--scope', 'files.read', '--consent', 'remember']
      return {
        chain,
        app: await registerApp(stack, at, { name: 'Relay', redirectUri: chain.site.redirectUri, options })
      }
    },
    async close(): Promise<void> {
      await Promise.all([...sites, loopback, host].map((site) => site.close()))
    }
  }
}
