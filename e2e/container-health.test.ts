import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from '@jest/globals'

const PROGRAM = path.resolve(import.meta.dirname, '../infra/docker/healthcheck.mjs')
const hasIpv6 = Object.values(networkInterfaces()).some((found) => found?.some(({ address }) => address === '::1'))

/** The exit code of the health check of the images, for a listener that responds with a status. */
async function check(host: string, listener: string, status: number): Promise<number | null> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  try {
    const { port } = server.address() as AddressInfo
    const child = spawn(process.execPath, [PROGRAM, `${listener}:${port}`], { stdio: 'ignore' })
    return await new Promise((resolve) => child.once('close', resolve))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('the health check of the images asks the operator listener', () => {
  test.each([
    { name: '', host: '127.0.0.1' },
    { name: '0.0.0.0', host: '127.0.0.1' },
    { name: '127.0.0.1', host: '127.0.0.1' },
    { name: 'localhost', host: 'localhost' },
    ...(hasIpv6 ? [{ name: '[::1]', host: '::1' }] : [])
  ])('at $name', async ({ name, host }) => {
    expect(await check(host, name, 200)).toBe(0)
    expect(await check(host, name, 503)).toBe(1)
  })
})
