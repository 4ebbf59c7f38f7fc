import { isSameResource } from '@valetkey/oauth-protocol'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { changesBetween } from '../../operator/use-cases/changes-between.js'
import { apisOf } from '../../storage/postgres/resource-servers.js'
import { checkResourceServer } from './check-entries.js'
import { changed, type Known, type RegistryChange } from './registry-change.js'
import type { RegistryDocument, ResourceServerEntry } from './registry-document.js'

type Placed = { entry: ResourceServerEntry; place: string }

/** New credentials, then changed titles: a title belongs to the API, so it is compared once for all of its credentials. */
export async function planResourceServers(document: RegistryDocument, known: Known): Promise<RegistryChange[]> {
  const placed: Placed[] = []
  for (const [index, given] of (document.resource_servers ?? []).entries()) {
    const place = `resource_servers[${index}]`
    const entry = await checkResourceServer(given, place, known.mistakes)
    await checkFixedMembers({ entry, place }, known)
    await checkSpelling({ entry, place }, placed, known)
    await checkTitle({ entry, place }, placed, known)
    placed.push({ entry, place })
  }
  const titles = titlesOf(placed, known)
  const titled = placed.map(({ entry, place }) => {
    const title = titles.get(entry.audience)
    return { place, entry: { ...entry, ...(title !== undefined && { title }) } }
  })
  const created = titled.filter(({ entry }) => findCurrent(entry, known) === undefined)
  return [
    ...created.map(({ entry, place }): RegistryChange => {
      return { kind: 'resource server', id: entry.client_id, action: 'create', entry, place, changes: {} }
    }),
    ...planTitles(titled, known)
  ]
}

async function checkFixedMembers({ entry, place }: Placed, known: Known): Promise<void> {
  const found = findCurrent(entry, known)
  if (found === undefined) return
  for (const member of ['name', 'audience'] as const) {
    await known.mistakes.check(`${place}.${member}`, () => {
      if (entry[member] === found[member]) return
      const problem = `resource server ${entry.client_id} has another ${member}, ${found[member]}, which cannot be changed`
      throw new AdministrationError('conflict', `${problem}: use another client_id`)
    })
  }
}

/** Postgres refuses a second spelling, also of an API that `--prune` is to delete, because deletions come last. */
async function checkSpelling({ entry, place }: Placed, earlier: readonly Placed[], known: Known): Promise<void> {
  if (findCurrent(entry, known) !== undefined) return
  const isOther = (audience: string) => audience !== entry.audience && isSameResource(audience, entry.audience)
  await known.mistakes.check(`${place}.audience`, () => {
    const registered = known.current.servers.find(({ audience }) => isOther(audience))
    if (registered !== undefined) {
      throw new AdministrationError('conflict', `the API is registered as ${registered.audience}: use this spelling`)
    }
    const listed = earlier.find((other) => isOther(other.entry.audience))
    if (listed === undefined) return
    const problem = `${listed.place} has another spelling, ${listed.entry.audience}`
    throw new AdministrationError('invalid', `${problem}: use one for both`)
  })
}

/** Two titles for one API would replace each other at every run. */
async function checkTitle({ entry, place }: Placed, earlier: readonly Placed[], { mistakes }: Known): Promise<void> {
  const { audience, title } = entry
  if (title === undefined) return
  const first = earlier.find((other) => other.entry.audience === audience && other.entry.title !== undefined)
  await mistakes.check(`${place}.title`, () => {
    if (first === undefined || first.entry.title === title) return
    const problem = `that of ${first.place} is ${JSON.stringify(first.entry.title)}`
    throw new AdministrationError('invalid', `an API has one title, and ${problem}`)
  })
}

/**
 * The title of each API of the document: that of an entry with one, else that of a credential that the document does not list,
 * because without `title` a second credential gets the title of its API.
 */
function titlesOf(placed: readonly Placed[], { kept }: Known): ReadonlyMap<string, string | undefined> {
  const listed = new Set(placed.map(({ entry }) => entry.client_id))
  const others = kept.servers.filter(({ clientId }) => !listed.has(clientId))
  return new Map(
    placed.map(({ entry: { audience } }) => {
      const given = placed.find(({ entry }) => entry.audience === audience && entry.title !== undefined)
      return [audience, given?.entry.title ?? titleOf(audience, others)]
    })
  )
}

/** Plans at most one change for each API. Its first entry names it. */
function planTitles(placed: readonly Placed[], { kept }: Known): RegistryChange[] {
  const isFirst = ({ entry }: Placed, index: number) =>
    placed.findIndex((other) => other.entry.audience === entry.audience) === index
  return placed.filter(isFirst).flatMap(({ entry, place }) => {
    const { client_id: id, audience, title } = entry
    // A new API is created with its title.
    if (kept.servers.every((server) => server.audience !== audience)) return []
    const changes = changesBetween({ title: titleOf(audience, kept.servers) }, { title })
    return changed({ kind: 'resource server', id, action: 'update', entry, place, changes })
  })
}

function titleOf(audience: string, servers: Parameters<typeof apisOf>[0]): string | undefined {
  return apisOf(servers).find((api) => api.audience === audience)?.title
}

function findCurrent({ client_id: id }: ResourceServerEntry, { current }: Known) {
  return current.servers.find(({ clientId }) => clientId === id)
}
