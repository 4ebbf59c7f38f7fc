import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'

const SPECIFIER = /(\bfrom\s+|\bimport\(\s*|\bimport\s+)(['"])([^'"]+)\2/g

/**
 * Copies a declaration file of the folder `source` and all that it leads to. A bundled package becomes a folder beside the others, and what
 * pointed at it points there. Fails on a module that the package's users would not have.
 */
export function copyDeclarations(entry, target, { source, bundled, external }) {
  const folders = [
    { from: source, to: target },
    ...Object.entries(bundled).map(([name, file]) => ({
      from: path.dirname(file),
      to: path.join(target, path.basename(name))
    }))
  ]
  const done = new Set()

  function placeOf(file) {
    const folder = folders.find(({ from }) => !path.relative(from, file).startsWith('..'))
    return path.join(folder.to, path.relative(folder.from, file))
  }

  function copy(file) {
    if (done.has(file)) return
    done.add(file)
    const place = placeOf(file)
    const text = readFileSync(file, 'utf8').replace(SPECIFIER, (whole, lead, quote, specifier) => {
      const next = specifier.startsWith('.')
        ? path.resolve(path.dirname(file), declarationOf(specifier))
        : bundled[specifier]
      if (next !== undefined) {
        copy(next)
        const relative = path.relative(path.dirname(place), placeOf(next)).split(path.sep).join('/')
        const local = relative.startsWith('.') ? relative : `./${relative}`
        return `${lead}${quote}${local.replace(/\.d\.ts$/, '.js')}${quote}`
      }
      if (isBuiltin(specifier) || external.includes(specifier)) return whole
      throw new Error(`The types point at ${specifier}, which the package's users do not have (${file})`)
    })
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, text)
  }

  copy(entry)
}

function declarationOf(specifier) {
  return specifier.replace(/\.js$/, '.d.ts')
}
