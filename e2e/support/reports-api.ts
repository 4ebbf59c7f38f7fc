import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Addresses } from '../system/stack.mjs'

const main = fileURLToPath(new URL('../../examples/reports-api/dist/main.js', import.meta.url))

export type ReportsApi = {
  get(accessToken?: string): Promise<{ status: number; challenge: string; body: unknown }>
  stop(): Promise<void>
}

/** Starts the example API with only the settings in its README. */
export async function startReportsApi(
  at: Addresses,
  resource: string,
  credential: { clientId: string; clientSecret: string }
): Promise<ReportsApi> {
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ISSUER: at.issuer,
      RESOURCE: resource,
      INTROSPECTION_URL: `${at.internalUrl}/introspect`,
      INTROSPECTION_CLIENT_ID: credential.clientId,
      INTROSPECTION_CLIENT_SECRET: credential.clientSecret,
      PORT: '0'
    }
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const said = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const address = /http\S+/.exec(String(said.value))?.[0] ?? ''
  return {
    async get(accessToken) {
      const headers = { ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }) }
      const response = await fetch(address, { headers })
      const challenge = response.headers.get('www-authenticate') ?? ''
      return { status: response.status, challenge, body: await response.json() }
    },
    async stop() {
      child.kill()
      await ended
    }
  }
}
