import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import handlebars from 'handlebars'

/** Sources by file name: `login.hbs`, `partials/api.hbs`. */
export type Templates = ReadonlyMap<string, string>

export const VIEWS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../views')

export const LAYOUT = 'layout.hbs'
export const PARTIALS = 'partials'

// A name that is missing in the data is an error and not an empty string.
const COMPILE_OPTIONS = { strict: true, preventIndent: true } as const

export function readBuiltInTemplates(): Templates {
  return new Map(
    ['', PARTIALS].flatMap((folder) =>
      readdirSync(path.join(VIEWS, folder))
        .filter((name) => name.endsWith('.hbs'))
        .map((name) => [path.posix.join(folder, name), readFileSync(path.join(VIEWS, folder, name), 'utf8')] as const)
    )
  )
}

/** A page within the layout. */
export type Page = (data: object) => string

/** Compiles all templates. @param engine has the helpers @returns pages by file name */
export function compilePages(templates: Templates, engine: typeof handlebars): ReadonlyMap<string, Page> {
  const compiled = new Map<string, HandlebarsTemplateDelegate>()
  for (const [name, source] of templates) {
    const template = engine.compile(source, COMPILE_OPTIONS)
    if (name.startsWith(`${PARTIALS}/`)) engine.registerPartial(path.basename(name, '.hbs'), template)
    else compiled.set(name, template)
  }
  const layout = compiled.get(LAYOUT)
  if (layout === undefined) throw new Error(`there is no template ${LAYOUT}`)
  const inLayout = (body: HandlebarsTemplateDelegate) => (data: object) => layout({ ...data, body: body(data) })
  return new Map([...compiled].map(([name, template]) => [name, inLayout(template)]))
}

export const newEngine = (): typeof handlebars => handlebars.create()
