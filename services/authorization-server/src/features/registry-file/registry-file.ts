import { parseDocument } from 'yaml'
import { CommandFailure } from '../../operator/cli/exit.js'

/** This is enough for each entry of a large file, and far too few for aliases of aliases that expand without end. */
const MOST_ALIASES = 100_000

/** YAML 1.2, of which JSON is a part, with merge keys (`<<: *defaults`). @throws {CommandFailure} with the first mistake */
export function parseRegistryFile(text: string, file: string): unknown {
  const document = parseDocument(text, { merge: true, prettyErrors: true })
  // A warning is about a value that would have another meaning, such as one with an unknown tag.
  const [mistake] = [...document.errors, ...document.warnings]
  if (mistake?.code === 'MULTIPLE_DOCS') {
    throw new CommandFailure('usage', `${file} has several YAML documents: put all lists into one`)
  }
  if (mistake !== undefined) throw notReadable(mistake, file)
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES })
  } catch (error) {
    throw notReadable(error, file)
  }
}

function notReadable(error: unknown, file: string): CommandFailure {
  const [firstLine] = String(error instanceof Error ? error.message : error).split('\n')
  return new CommandFailure('usage', `${file} is neither YAML nor JSON: ${firstLine}`)
}
