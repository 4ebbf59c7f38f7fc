import type { TestServer } from './authorization-server.js'

/** Writes what the server would write in the background, such as uses and refused requests. */
export async function writeRest({ deps }: Pick<TestServer, 'deps'>): Promise<void> {
  await Promise.all(deps.closeables.map((each) => each.close()))
}
