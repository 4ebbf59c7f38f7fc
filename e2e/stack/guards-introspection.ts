import { beforeAll, expect, test } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { GUARDS, startGuard } from '../support/guard-program.js'
import { type RegisteredApp, registerApp } from '../support/registered-app.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { StackWorld } from './use-stack.js'

const RESOURCE = 'https://reports.example'
let stack: Stack
let at: Addresses
let app: RegisteredApp
let settings: Record<string, string>

async function newToken(scope: string): Promise<string> {
  const answer = await simulateUser(at.issuer, at).decide(new URL(app.request({ scope })), 'allow')
  return (await app.redeem(answer.searchParams)).accessToken
}

export function guardsInLanguages(world: StackWorld): void {
  beforeAll(async () => {
    ;({ stack, at } = world)
    const credential = await stack.valetkey(['resource-servers', 'create', '--name', 'reports', '--audience', RESOURCE])
    await stack.valetkey(['scopes', 'create', 'reports.read', '--title', 'See your reports', '--resource', 'reports'])
    const scope = 'reports.read files.read'
    app = await registerApp(stack, at, { name: 'Report Reader', redirectUri: 'https://reader.example/callback', scope })
    const { client_id: INTROSPECTION_CLIENT_ID = '', client_secret: INTROSPECTION_CLIENT_SECRET = '' } = credential
    const INTROSPECTION_URL = `${at.internalUrl}/introspect`
    settings = { ISSUER: at.issuer, RESOURCE, INTROSPECTION_URL, INTROSPECTION_CLIENT_ID, INTROSPECTION_CLIENT_SECRET }
  })

  test.each(GUARDS)(
    '$file accepts a token of the authorization server until it is revoked, and none for another API',
    async ({ command }) => {
      const guard = await startGuard(command, settings)
      try {
        const statusOf = async (token: string) =>
          (await fetch(`${guard.url}/reports`, { headers: { authorization: `Bearer ${token}` } })).status
        const token = await newToken('reports.read')
        expect(await statusOf(token)).toBe(200)
        expect(await statusOf(await newToken('files.read'))).toBe(401)
        await app.revoke(token)
        expect(await statusOf(token)).toBe(401)
      } finally {
        await guard.stop()
      }
    },
    120_000
  )
}
