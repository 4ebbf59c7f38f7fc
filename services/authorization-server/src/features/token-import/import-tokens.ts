import type { Author } from '../../operator/use-cases/actor.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { readImportedLine } from './read-imported-line.js'
import { createSeenHashes, type SeenHashes } from './seen-hashes.js'
import type {
  ExaminedLine,
  ImportedConsent,
  ImportedLine,
  ImportedToken,
  StorableLine,
  TokenImportStore
} from './token-import-store.js'

export type TokenImport = {
  /** The lines of the file, from the first; called twice, unless invalid lines are skipped. */
  lines: () => AsyncIterable<string>
  isDryRun: boolean
  /** Imports the other lines if some lines have mistakes. */
  skipsInvalid: boolean
  /** `RESOURCE_URL`: the API of a line that names none. */
  defaultAudience: string
  /** Called for each line that is refused, with its number. */
  onProblem: (line: number, problem: string) => void
}

export type ImportedCounts = {
  tokens: number
  consents: number
  /** Lines that were imported before, and consents of users who decided here. */
  existing: number
  refused: number
  /** For each scope that lines name and their clients cannot have here: in how many lines. The other scopes of a line are imported. */
  scopesLeftOut: ReadonlyMap<string, number>
}

type Deps = { imports: TokenImportStore; now: () => Date }

type NumberedLine = ImportedLine & { line: number }

const BATCH = 1_000

/**
 * Imports refresh tokens and consents of another server. Unless invalid lines are skipped, a first pass checks the whole file, so that a
 * mistake is found before anything is stored. A run that was interrupted is repeated: what was imported is left as it is.
 * @throws {AdministrationError} if lines have mistakes, unless they are skipped; then nothing was stored
 */
export async function importTokens(run: TokenImport, author: Author, deps: Deps): Promise<ImportedCounts> {
  if (!run.isDryRun && !run.skipsInvalid) {
    const { refused } = await passOver(run, { ...deps, store: async (lines) => lines.length })
    if (refused > 0) {
      const advice = 'correct them, or import the other lines with --skip-invalid'
      throw new AdministrationError('invalid', `${refused} lines cannot be imported; nothing was stored: ${advice}`)
    }
  }
  const store = run.isDryRun ? async (lines: Lines) => lines.length : storeWith(author, deps.imports)
  return passOver(run, { ...deps, store })
}

type Lines = readonly StorableLine[]

type Pass = Deps & { store: (lines: Lines) => Promise<number> }

async function passOver(run: TokenImport, { imports, now, store }: Pass): Promise<ImportedCounts> {
  const counts = { tokens: 0, consents: 0, existing: 0, refused: 0, scopesLeftOut: new Map<string, number>() }
  const refuse = (line: number, problem: string) => {
    counts.refused += 1
    run.onProblem(line, problem)
  }
  for await (const batch of batchesOf(run, now(), refuse)) {
    const examined = await imports.examine(batch)
    const storable: StorableLine[] = []
    for (const [index, line] of batch.entries()) {
      const found = examined[index]
      if (found === undefined) throw new Error('a line was not examined')
      if (found.isKnown) counts.existing += 1
      else {
        const outcome = judge(line, found)
        if ('problem' in outcome) refuse(line.line, outcome.problem)
        else storable.push(leavingOut(line, outcome, counts.scopesLeftOut))
      }
    }
    for (const kind of ['token', 'consent'] as const) {
      const ofKind = storable.filter((line) => line.kind === kind)
      const stored = await store(ofKind)
      counts[`${kind}s`] += stored
      counts.existing += ofKind.length - stored
    }
  }
  return counts
}

/** Order: what an operator must do first comes first. */
function judge(
  line: ImportedLine,
  found: ExaminedLine
): { userId: string; scope: readonly string[] } | { problem: string } {
  const client = `the client ${line.clientId}`
  if (!found.hasClient) return { problem: `there is no client ${line.clientId}` }
  if (found.clientDisabled) return { problem: `${client} is disabled` }
  if (line.kind === 'token' && !found.issuesRefreshTokens) return { problem: `${client} gets no refresh tokens` }
  if (line.kind === 'consent' && !found.remembersConsent) return { problem: `${client} remembers no consents` }
  if (found.userId === undefined) return { problem: `there is no user ${line.userId ?? line.userName}` }
  if (found.userDisabled) return { problem: `the user ${line.userId ?? line.userName} is disabled` }
  if (!found.hasAudience) return { problem: `there is no resource server with the audience ${line.audience}` }
  if (found.wasEnded) return { problem: `the access of ${client} by this user was ended here` }
  if (found.usableScope.length === 0) {
    return { problem: `${client} can have none of these scopes for ${line.audience}: ${line.scope.join(' ')}` }
  }
  return { userId: found.userId, scope: found.usableScope }
}

function leavingOut(
  line: NumberedLine,
  { userId, scope }: { userId: string; scope: readonly string[] },
  leftOut: Map<string, number>
): StorableLine {
  for (const name of line.scope) if (!scope.includes(name)) leftOut.set(name, (leftOut.get(name) ?? 0) + 1)
  return { ...line, scope, storedUserId: userId }
}

function storeWith(author: Author, imports: TokenImportStore) {
  return async (lines: Lines): Promise<number> => {
    const [first] = lines
    if (first === undefined) return 0
    const details = { fromLine: first.line }
    const tokens = lines.filter((line): line is StorableLine<ImportedToken> => line.kind === 'token')
    const consents = lines.filter((line): line is StorableLine<ImportedConsent> => line.kind === 'consent')
    return first.kind === 'token'
      ? recordChange({ event: 'tokens_imported', details }, author, (note) => imports.addTokens(tokens, note))
      : recordChange({ event: 'consents_imported', details }, author, (note) => imports.addConsents(consents, note))
  }
}

async function* batchesOf(
  { lines, defaultAudience }: TokenImport,
  now: Date,
  refuse: (line: number, problem: string) => void
): AsyncGenerator<readonly NumberedLine[]> {
  const seen = createSeenHashes()
  let batch: NumberedLine[] = []
  let line = 0
  for await (const text of lines()) {
    line += 1
    if (text.trim() === '') continue
    const read = readOrProblem(text, { line, defaultAudience, now, seen })
    if (typeof read === 'string') refuse(line, read)
    else batch.push({ ...read, line })
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** @returns the problem of the line as a text */
function readOrProblem(
  text: string,
  { line, defaultAudience, now, seen }: { line: number; defaultAudience: string; now: Date; seen: SeenHashes }
): ImportedLine | string {
  try {
    const read = readImportedLine(text, defaultAudience, now)
    const earlier = read.kind === 'token' ? seen.add(read.hash, line) : undefined
    return earlier === undefined ? read : `the token is in line ${earlier} as well`
  } catch (error) {
    if (error instanceof AdministrationError) return error.message
    throw error
  }
}
