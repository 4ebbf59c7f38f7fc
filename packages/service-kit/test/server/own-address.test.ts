import { describe, expect, test } from '@jest/globals'
import { atOwnAddress } from '../../src/server/own-address.js'

const OWN = ['127.0.0.1', '::1', '172.18.0.4', '172.19.0.4']

describe('atOwnAddress', () => {
  test.each([
    { name: 'several machines', found: ['172.18.0.3', '172.18.0.4'], host: '172.18.0.4' },
    { name: 'this machine only', found: ['172.18.0.4'], host: 'name' },
    { name: 'this machine twice, as localhost', found: ['127.0.0.1', '::1'], host: 'name' },
    { name: 'another machine, which the system refuses', found: ['172.18.0.3'], host: 'name' }
  ])('a name of $name', async ({ found, host }) => {
    const addresses = { resolve: async () => found, own: () => OWN }
    expect(await atOwnAddress({ host: 'name', port: 4001 }, addresses)).toEqual({ host, port: 4001 })
  })

  test.each(['0.0.0.0', '::', '127.0.0.1', 'localhost'])('%s stays as it is', async (host) => {
    expect(await atOwnAddress({ host, port: 4001 })).toEqual({ host, port: 4001 })
  })
})
