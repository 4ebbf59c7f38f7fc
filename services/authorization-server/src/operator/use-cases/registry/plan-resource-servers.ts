import { AdministrationError } from '../administration-error.js'
import { changesBetween } from '../changes-between.js'
import { checkResourceServer } from './check-entries.js'
import { changed, type Known, type RegistryChange } from './registry-change.js'
import type { ResourceServerEntry } from './registry-document.js'

export async function planResourceServer(
  entry: ResourceServerEntry,
  place: string,
  { current, mistakes }: Known
): Promise<RegistryChange[]> {
  const { client_id: id, title } = entry
  await checkResourceServer(entry, place, mistakes)
  const found = current.servers.find(({ clientId }) => clientId === id)
  if (found === undefined) return [{ kind: 'resource server', id, action: 'create', entry, place, changes: {} }]
  for (const member of ['name', 'audience'] as const) {
    await mistakes.check(`${place}.${member}`, () => {
      if (entry[member] === found[member]) return
      const problem = `resource server ${id} has another ${member}, ${found[member]}, which cannot be changed`
      throw new AdministrationError('conflict', `${problem}: use another client_id`)
    })
  }
  const changes = changesBetween({ title: found.title }, { title })
  return changed({ kind: 'resource server', id, action: 'update', entry, place, changes })
}
