import { isSameResource } from '@valetkey/oauth-protocol'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { apiDocument, titlesOf } from '../../operator/use-cases/api-titles.js'
import { changesBetween } from '../../operator/use-cases/changes-between.js'
import { type Api, apisOf } from '../../storage/postgres/resource-servers.js'
import { checkResourceServer } from './check-entries.js'
import { changed, type Known, type RegistryChange } from './registry-change.js'
import type { RegistryDocument, ResourceServerEntry } from './registry-document.js'

type Placed = { entry: ResourceServerEntry; place: string }

/** New credentials, then changed APIs: titles and binding belong to the API, so they are compared once for all of its credentials. */
export async function planResourceServers(document: RegistryDocument, known: Known): Promise<RegistryChange[]> {
  const placed: Placed[] = []
  for (const [index, given] of (document.resource_servers ?? []).entries()) {
    const place = `resource_servers[${index}]`
    const entry = await checkResourceServer(given, place, known.mistakes)
    await checkFixedMembers({ entry, place }, known)
    await checkSpelling({ entry, place }, placed, known)
    await checkShared({ entry, place }, placed, known)
    placed.push({ entry, place })
  }
  const shared = sharedMembers(placed, known)
  const complete = placed.map(({ entry, place }) => ({ place, entry: { ...entry, ...shared.get(entry.audience) } }))
  for (const { entry, place } of complete) await checkTitles({ entry, place }, known)
  const created = complete.filter(({ entry }) => findCurrent(entry, known) === undefined)
  return [
    ...created.map(({ entry, place }): RegistryChange => {
      return { kind: 'resource server', id: entry.client_id, action: 'create', entry, place, changes: {} }
    }),
    ...planApis(complete, known)
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

async function checkTitles(
  { entry: { title, title_in: titleIn = {} }, place }: Placed,
  { mistakes }: Known
): Promise<void> {
  await mistakes.check(`${place}.title_in`, () => {
    if (title !== undefined || Object.keys(titleIn).length === 0) return
    throw new AdministrationError('invalid', 'an API with a title in other languages needs a title')
  })
}

/** What all credentials of an API have in common. */
type SharedMembers = Pick<ResourceServerEntry, 'title' | 'title_in' | 'dpop'>

/** Two values for one API would replace each other at every run. */
async function checkShared({ entry, place }: Placed, earlier: readonly Placed[], { mistakes }: Known): Promise<void> {
  for (const member of ['title', 'title_in', 'dpop'] as const) {
    const value = entry[member]
    const isOfApi = (other: Placed) => other.entry.audience === entry.audience && other.entry[member] !== undefined
    const first = earlier.find(isOfApi)
    if (value === undefined || first === undefined || isSame(first.entry[member], value)) continue
    await mistakes.check(`${place}.${member}`, () => {
      const problem = `that of ${first.place} is ${JSON.stringify(first.entry[member])}`
      throw new AdministrationError('invalid', `an API has one ${member}, and ${problem}`)
    })
  }
}

/**
 * The titles and the binding of each API of the document: those of an entry with one, else those of a credential that the document does
 * not list, because a second credential gets those of its API.
 */
function sharedMembers(placed: readonly Placed[], { kept }: Known): ReadonlyMap<string, SharedMembers> {
  const listed = new Set(placed.map(({ entry }) => entry.client_id))
  const others = kept.servers.filter(({ clientId }) => !listed.has(clientId))
  return new Map(
    placed.map(({ entry: { audience } }) => {
      const given = placed.map(({ entry }) => entry).filter((entry) => entry.audience === audience)
      const other = apiOf(audience, others)
      const title = given.find((entry) => entry.title !== undefined)?.title ?? other?.title
      const titleIn = given.find((entry) => entry.title_in !== undefined)?.title_in ?? other?.titleIn
      const dpop = given.find((entry) => entry.dpop !== undefined)?.dpop ?? other?.dpop
      return [audience, { ...titlesOf({ title, titleIn: titleIn ?? {} }), ...(dpop !== undefined && { dpop }) }]
    })
  )
}

/** Plans at most one change for each API. Its first entry names it. */
function planApis(placed: readonly Placed[], { kept }: Known): RegistryChange[] {
  const isFirst = ({ entry }: Placed, index: number) =>
    placed.findIndex((other) => other.entry.audience === entry.audience) === index
  return placed.filter(isFirst).flatMap(({ entry, place }) => {
    const { client_id: id, audience, title, title_in: titleIn = {}, dpop } = entry
    const api = apiOf(audience, kept.servers)
    // A new API is created with its titles and binding.
    if (api === undefined) return []
    const changes = changesBetween(apiDocument(api), {
      ...titlesOf({ title, titleIn }),
      dpop: dpop === 'off' ? undefined : dpop
    })
    return changed({ kind: 'resource server', id, action: 'update', entry, place, changes })
  })
}

const isSame = (one: unknown, other: unknown) => Object.keys(changesBetween({ one }, { one: other })).length === 0

function apiOf(audience: string, servers: Parameters<typeof apisOf>[0]): Api | undefined {
  return apisOf(servers).find((api) => api.audience === audience)
}

function findCurrent({ client_id: id }: ResourceServerEntry, { current }: Known) {
  return current.servers.find(({ clientId }) => clientId === id)
}
