import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTestRedis } from '../../packages/dev-stack/src/index.js'
import { type Addresses, createStack } from '../system/stack.mjs'
import { type AppSite, openAppSite } from './app-site.js'
import { type RegisteredApp, registerApp } from './registered-app.js'
import type { Account } from './walk.js'

export type RecoveryWorld = {
  at: Addresses
  /** Her only file is `annas.txt`, so a list with it was read with her token. */
  anna: Account
  /** His only file is `berts.txt`. */
  bert: Account
  site: AppSite
  app: RegisteredApp
  /** Registers another app with the command line. */
  register(app: Parameters<typeof registerApp>[2]): Promise<RegisteredApp>
  /** Redirects to a private-use URI scheme. */
  album: RegisteredApp
  redisIsEmulated: boolean
  /** Removes all pending requests, as after an hour. */
  letRequestsExpire(): Promise<void>
  /** Removes all data of Redis. */
  loseRedis(): Promise<void>
  /** Stops and starts all processes. */
  restart(): Promise<void>
  dispose(): Promise<void>
}

export async function createRecoveryWorld(): Promise<RecoveryWorld> {
  const folder = mkdtempSync(path.join(tmpdir(), 'valetkey-files-'))
  const redis = createTestRedis()
  const stack = await createStack({ files: folder, ...(redis.url && { environment: { REDIS_URL: redis.url } }) })
  const [at, site] = await Promise.all([stack.start(), openAppSite()])

  async function createUser(username: string): Promise<Account> {
    const account = { username, password: `the password of ${username}` }
    const directory = mkdtempSync(path.join(folder, username))
    writeFileSync(path.join(directory, `${username}s.txt`), '')
    const { user_id } = await stack.valetkey(['users', 'create', username, '--password-stdin'], account.password)
    await stack.valetkeyFiles(['import', '--owner', user_id ?? '', directory])
    return account
  }

  async function restart(): Promise<void> {
    await stack.stop()
    await stack.start()
  }

  const register: RecoveryWorld['register'] = (other) => registerApp(stack, at, other)

  const [anna, bert, app, album] = await Promise.all([
    createUser('anna'),
    createUser('bert'),
    register({ name: 'Printer', redirectUri: site.redirectUri }),
    register({
      name: 'Album',
      redirectUri: 'com.example.album:/signed-in',
      options: ['--public', '--scope', 'files.read']
    })
  ])

  return {
    at,
    anna,
    bert,
    site,
    app,
    album,
    register,
    redisIsEmulated: redis.url === undefined,
    async letRequestsExpire() {
      // An emulated Redis cannot be reached from here, but it loses its data at a restart.
      if (redis.url === undefined) return restart()
      const pending = await redis.client.keys('vk:requests:*')
      if (pending.length > 0) await redis.client.del(...pending)
    },
    async loseRedis() {
      if (redis.url === undefined) return restart()
      await redis.client.flushdb()
    },
    restart,
    async dispose() {
      await site.close()
      await stack.dispose()
      await redis.close()
      rmSync(folder, { recursive: true })
    }
  }
}
