import { type Database, isUniqueViolation } from '@valetkey/service-kit'

export type ScopeTranslation = { title?: string; description?: string }

/** An entry of the scope catalogue: what a person reads on the consent page. */
export type Scope = {
  name: string
  title: string
  description: string
  /** By language tag. */
  translations: Readonly<Record<string, ScopeTranslation>>
  builtIn: boolean
}

type ScopeRow = {
  name: string
  title: string
  description: string
  translations: Record<string, ScopeTranslation>
  built_in: boolean
}

export function createScopeStore(database: Database) {
  return {
    /** @returns false when there is a scope of that name */
    async create(
      scope: Omit<Scope, 'builtIn' | 'translations'> & Partial<Pick<Scope, 'translations'>>
    ): Promise<boolean> {
      try {
        await database.query({
          name: 'create_scope',
          text: 'insert into scopes (name, title, description, translations) values ($1, $2, $3, $4)',
          values: [scope.name, scope.title, scope.description, JSON.stringify(scope.translations ?? {})]
        })
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },

    async list(): Promise<Scope[]> {
      const rows = await database.query<ScopeRow>({
        name: 'list_scopes',
        text: 'select name, title, description, translations, built_in from scopes order by built_in desc, name',
        values: []
      })
      return rows.map((row) => ({
        name: row.name,
        title: row.title,
        description: row.description,
        translations: row.translations,
        builtIn: row.built_in
      }))
    }
  }
}

export type ScopeStore = ReturnType<typeof createScopeStore>
