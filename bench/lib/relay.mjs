// A TCP relay between a service and a store. Counts statements or commands by name, and can delay the store's responses.
import { connect, createServer } from 'node:net'

/**
 * @param url the store's address
 * @param readerOf creates the reader of a connection. It gets each chunk that the service sends, and calls `note(name)` for
 *   each statement or command in it
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
      // The other side sees that the connection ends; the cause does not matter.
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
    /** The number of statements or commands that the service has sent. */
    total: () => total,
    /** The same for each name. */
    counts: () => counts,
    /** Delays the store's responses from now on. */
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
