import { expect, test } from '@jest/globals'

type Send = () => Promise<void>
type Server = {
  introspection(): Promise<Send>
  failingSignIn(importedHash?: string): Promise<Send>
  stop(): Promise<void>
}
const library = new URL('../bench/lib/authorization-server.mjs', import.meta.url).href
const { startAuthorizationServer } = (await import(library)) as { startAuthorizationServer(): Promise<Server> }

test('the server of bench:password-queue introspects, and refuses a wrong password of an imported user', async () => {
  const server = await startAuthorizationServer()
  try {
    const hash = `$2b$04$${'abcdefghijklmnopqrstuu'.padEnd(53, 'abcde')}`
    const [introspect, signIn] = [await server.introspection(), await server.failingSignIn(hash)]
    await expect(Promise.all([introspect(), signIn()])).resolves.toHaveLength(2)
  } finally {
    await server.stop()
  }
})
