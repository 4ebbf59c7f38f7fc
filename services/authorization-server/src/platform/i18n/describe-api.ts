import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Language } from './language.js'

/** An API with its texts for users. Without a title they see the host only. */
export type DescribedApi = { title: string; host: string }

/** The host comes from the resource identifier, so it shows where the token is accepted, whatever the title says. */
export function describeApi(audience: string, apis: readonly Api[], language: Pick<Language, 'tag'>): DescribedApi {
  const { title = '', titleIn = {} } = apis.find((api) => api.audience === audience) ?? {}
  return { title: titleIn[language.tag] ?? title, host: URL.canParse(audience) ? new URL(audience).host : audience }
}
