// A TCP relay between a service and a store: it counts what the service asks, by name, and can hold the store's answers.
import { connect, createServer } from 'node:net'

/**
 * @param url the store's address
 * @param readerOf makes the reader of one connection: it takes each chunk that the service sends, and calls `note(name)`
 *   for each statement or command in it
 */
export async function startRelay(url, readerOf) {
  const { hostname, port } = new URL(url)
  const counts = new Map()
  const stores = new Set()
  let total = 0
  let isHeld = false
  const note = (name) => {
    total++
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const relay = createServer({ noDelay: true }, (service) => {
    const store = connect({ host: hostname, port: Number(port), noDelay: true })
    stores.add(store)
    const read = readerOf(note)
    service.on('data', (chunk) => {
      read(chunk)
      store.write(chunk)
    })
    store.on('data', (chunk) => service.write(chunk))
    if (isHeld) store.pause()
    for (const [one, other] of [
      [service, store],
      [store, service]
    ]) {
      // The other side sees the end of the connection, which is all that it has to know.
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    store.on('close', () => stores.delete(store))
  })
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve))

  return {
    /** The address of a database of this store, through the relay. */
    through: (address) =>
      Object.assign(new URL(address), { hostname: '127.0.0.1', port: String(relay.address().port) }).href,
    /** How many statements or commands the service has sent. */
    total: () => total,
    /** The same by name. */
    counts: () => counts,
    /** From now on the store's answers wait. */
    hold() {
      isHeld = true
      for (const store of stores) store.pause()
    },
    release() {
      isHeld = false
      for (const store of stores) store.resume()
    }
  }
}
