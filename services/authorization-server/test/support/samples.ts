import type { TestServer } from './authorization-server.js'

export type Samples = Readonly<Record<string, number>>

/** Every line of `/metrics`, by name and labels without their quotes. */
export async function samplesOf({ operatorServer }: Pick<TestServer, 'operatorServer'>): Promise<Samples> {
  const { body } = await operatorServer.inject('/metrics')
  const lines = body.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm)
  return Object.fromEntries([...lines].map(([, name = '', value]) => [name.replaceAll('"', ''), Number(value)]))
}

/** The samples that increased during this function, without the metric of requests. */
export async function growth(
  server: Pick<TestServer, 'operatorServer'>,
  run: () => Promise<unknown>
): Promise<Samples> {
  const before = await samplesOf(server)
  await run()
  const after = await samplesOf(server)
  const grown = Object.entries(after).filter(
    ([name, value]) => value !== (before[name] ?? 0) && /_total/.test(name) && !name.startsWith('valetkey_http')
  )
  return Object.fromEntries(grown.map(([name, value]) => [name, value - (before[name] ?? 0)]))
}
