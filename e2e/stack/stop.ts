import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import path from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { connectPostgres } from '../../packages/service-kit/src/index.js'
import type { StackWorld } from './use-stack.js'

const open: (() => unknown)[] = []

/** Sends the first half of a request and no more. */
async function halfARequest(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  const head = [
    'POST /token HTTP/1.1',
    'Host: x',
    'Content-Type: application/x-www-form-urlencoded',
    'Content-Length: 99'
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\ngrant_type=`)
  open.push(() => socket.destroy())
  return socket
}

/** Opens a stream and does not read it. */
async function unreadStream(url: string, credentials: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  socket.write(`GET /revocations HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  socket.pause()
  open.push(() => socket.destroy())
}

/** Runs a statement that takes longer than the limit of a stop. */
async function busySession(url: string): Promise<void> {
  const database = connectPostgres(url, { connections: 1 })
  const run = (text: string) => database.query({ name: '', text, values: [] })
  await run('set statement_timeout = 0')
  run('select pg_sleep(600)').catch(() => {})
  open.push(() => database.close())
}

/** Ends the stack, so it is the last subject of its file. */
export function stop(world: StackWorld): void {
  afterAll(async () => {
    for (const close of open.splice(0)) await close()
  })

  test('npm start stops during a stream, half a request and a long statement in Postgres', async () => {
    const { issuer, internalUrl, resourceUrl } = world.at
    const { environment } = JSON.parse(readFileSync(path.join(world.stack.directory, 'data/run.json'), 'utf8'))
    await unreadStream(internalUrl, `${environment.INTROSPECTION_CLIENT_ID}:${environment.INTROSPECTION_CLIENT_SECRET}`)
    for (const url of [issuer, internalUrl, resourceUrl]) await halfARequest(url)
    await busySession(environment.DATABASE_URL)
    // Each of these would keep a process for longer than Jest waits. Fails if the launcher has to be killed.
    await expect(world.stack.stop()).resolves.toBeUndefined()
  })
}
