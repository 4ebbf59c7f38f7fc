import { expect, test } from '@jest/globals'
import { cachedClients } from '../../../src/storage/cached/cached-stores.js'
import type { ClientRecord, ClientRegistration } from '../../../src/storage/postgres/clients.js'

const NEW = 'https://app.example/client.json'
const NOW = new Date('2026-11-22T12:00:00Z')

/** A cache with all rows, and a store with a row that was committed since. */
function start(rows: ReadonlyMap<string, ClientRecord>) {
  const asked: string[] = []
  const stored = { client: { clientId: NEW } as ClientRegistration, secretHashes: [] }
  const store = {
    find: async () => undefined,
    async findWithSecrets(clientId: string) {
      asked.push(clientId)
      return clientId === NEW ? stored : undefined
    }
  }
  const cache = { find: (key: string) => ({ isKnown: true, row: rows.get(key) }) as const, all: () => rows }
  return { asked, stored, clients: cachedClients(store, cache, (clientId) => clientId === NEW) }
}

test('a client that a user has just allowed can exchange its code before its row is announced', async () => {
  const { clients, stored, asked } = start(new Map())
  expect(await clients.findWithSecrets(NEW, NOW)).toBe(stored)
  expect(asked).toEqual([NEW])
})

test('any other unknown client costs no statement', async () => {
  const { clients, asked } = start(new Map())
  expect(await clients.findWithSecrets('client_1', NOW)).toBeUndefined()
  expect(asked).toEqual([])
})

test('a disabled client costs no statement', async () => {
  const disabled = { client: { clientId: NEW, disabled: true }, secrets: [] } as unknown as ClientRecord
  const { clients, asked } = start(new Map([[NEW, disabled]]))
  expect(await clients.findWithSecrets(NEW, NOW)).toBeUndefined()
  expect(asked).toEqual([])
})
