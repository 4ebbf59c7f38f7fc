import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

type ListenAddress = { host: string; port: number }

/** Every address of a name, and every address of this machine. */
type Addresses = {
  resolve(name: string): Promise<readonly string[]>
  own(): readonly string[]
}

const ofSystem: Addresses = {
  resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  own: () => Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address))
}

/**
 * The listener at an address of this machine, where its host is a name of several machines: all containers of a compose
 * service have the same name. Any other listener stays as it is.
 */
export async function atOwnAddress(
  { host, port }: ListenAddress,
  { resolve, own }: Addresses = ofSystem
): Promise<ListenAddress> {
  const addresses = await resolve(host)
  const ownAddresses = own()
  const ours = addresses.filter((address) => ownAddresses.includes(address))
  return { host: ours.length < addresses.length ? (ours[0] ?? host) : host, port }
}
