import type { Environment } from '@valetkey/service-kit'

/** What the programs of docs/connect-an-app.md read. */
type AppSettings = { clientId: string; clientSecret: string | undefined; redirectUris: readonly string[] }

/**
 * Lines for a shell with the settings of a new client's app. The addresses are those of the service, where this command knows them.
 * Ids and secrets have unreserved characters only, so no value needs quotes.
 */
export function environmentLines(app: AppSettings, { ISSUER, RESOURCE_URL }: Environment): string[] {
  const { clientId, clientSecret, redirectUris } = app
  const values = { ISSUER, RESOURCE_URL, PORT: loopbackPort(redirectUris), CLIENT_ID: clientId }
  const known = Object.entries({ ...values, CLIENT_SECRET: clientSecret }).filter(([, value]) => value)
  return [
    ...known.map(([name, value]) => `export ${name}=${value}`),
    '# Next: paste these lines, and run a program of examples/quickstarts, such as: node web-app.mjs'
  ]
}

/** The port that an app in development listens on. */
function loopbackPort(redirectUris: readonly string[]): string | undefined {
  const [first = ''] = redirectUris
  return /^http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(first)?.[1]
}
