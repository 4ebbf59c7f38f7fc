import { canonicalName } from '@valetkey/sign-in-rules'
import type { Author } from '../../operator/use-cases/actor.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { costOf } from '../../platform/passwords/hash-cost.js'
import { readImportedUser } from './read-imported-user.js'
import { type Existing, type ImportedUser, identityName, type UserImportStore } from './user-import-store.js'

export type UserImport = {
  /** The lines of the file, from the first; called twice. */
  lines: () => AsyncIterable<string>
  isDryRun: boolean
  /** Creates the users of the other lines if some lines have mistakes. */
  skipsInvalid: boolean
  /** Bytes that the service has for password hashes. */
  passwordMemory: number
  /** Called for each problem and each skipped identity, with the number of its line. */
  onProblem: (line: number, problem: string) => void
}

export type ImportedCounts = {
  created: number
  /** Users who existed before; they are not changed. */
  existing: number
  /** Lines with a problem; their users were not created. */
  refused: number
}

type ReadLine = { line: number; user: ImportedUser }

const BATCH = 500
const MOST_PROBLEMS = 20

/**
 * Imports users in two passes: the first checks the whole file, so that a mistake is found before a user is created; the second
 * creates users in batches. A run that was interrupted is repeated: users who exist are skipped.
 * @throws {AdministrationError} if the file has a mistake, unless invalid lines are skipped; then no user was created
 */
export async function importUsers(
  { lines, isDryRun, skipsInvalid, passwordMemory, onProblem }: UserImport,
  author: Author,
  { imports }: { imports: UserImportStore }
): Promise<ImportedCounts> {
  const invalid = await findInvalidLines(lines(), passwordMemory, onProblem)
  if (invalid.size > 0 && !skipsInvalid) {
    const advice = 'correct them, or create the users of the other lines with --skip-invalid'
    throw new AdministrationError('invalid', `${invalid.size} lines have mistakes; no user was created: ${advice}`)
  }
  const counts = { created: 0, existing: 0, refused: invalid.size }
  for await (const batch of batchesOf(lines(), invalid)) {
    const existing = await imports.findExisting(batch.map(({ user }) => user))
    const added = batch.filter(({ line, user }) => {
      const problem = problemWith(user, existing)
      if (problem === undefined) {
        const isNew = !existing.users.has(canonicalName(user.username))
        if (!isNew) counts.existing += 1
        return isNew
      }
      onProblem(line, problem)
      counts.refused += 1
      return false
    })
    counts.created += isDryRun ? added.length : await add(added, author, imports)
  }
  return counts
}

/** A user who exists is not changed: what the line says about the id, and about the sign-in, must be true already. */
function problemWith(user: ImportedUser, existing: Existing): string | undefined {
  const found = existing.users.get(canonicalName(user.username))
  if (found !== undefined) {
    if (user.keepsId && found.userId !== user.userId) return 'the user exists with another user_id'
    // The same user is meant if the id says so; otherwise it can be another person.
    if (!user.keepsId && user.username !== found.username) {
      return `${user.username} is the user name of ${found.username}, who exists`
    }
    if (user.disabled && !found.disabled) return 'the user exists and may sign in (valetkey users disable)'
    return undefined
  }
  if (user.keepsId && existing.userIds.has(user.userId)) return `the user_id ${user.userId} is that of another user`
  const taken = user.identities.find((identity) => existing.identities.has(identityName(identity)))
  return taken && `the identity ${taken.subject} of ${taken.issuer} is linked to another user`
}

async function add(batch: readonly ReadLine[], author: Author, imports: UserImportStore): Promise<number> {
  if (batch.length === 0) return 0
  const event = { event: 'users_imported', details: { fromLine: batch[0]?.line } } as const
  const users = batch.map(({ user }) => user)
  return recordChange(event, author, (note) => imports.add(users, note))
}

/** The lines that were read, by what no other line may have: the canonical user name, the id, each identity. */
type Seen = Map<string, { line: number; text: string }>

/**
 * A user name or an identity that occurs twice is a mistake of the second line.
 * @returns the numbers of the lines with mistakes
 */
async function findInvalidLines(
  lines: AsyncIterable<string>,
  passwordMemory: number,
  onProblem: UserImport['onProblem']
): Promise<ReadonlySet<number>> {
  const seen: Seen = new Map()
  const invalid = new Set<number>()
  let line = 0
  for await (const text of lines) {
    line += 1
    if (text.trim() === '') continue
    const skipped = (reason: string) => onProblem(line, reason)
    const problem = problemOfLine(text, line, seen, skipped) ?? problemOfMemory(text, passwordMemory)
    if (problem === undefined) continue
    invalid.add(line)
    if (invalid.size <= MOST_PROBLEMS) onProblem(line, problem)
  }
  return invalid
}

function problemOfLine(
  text: string,
  line: number,
  seen: Seen,
  onSkipped: (problem: string) => void
): string | undefined {
  try {
    const { username, userId, keepsId, identities } = readImportedUser(text, onSkipped)
    const others = [...(keepsId ? [`user_id ${userId}`] : []), ...identities.map(identityName)]
    for (const [key, text] of [
      [`username ${canonicalName(username)}`, username] as const,
      ...others.map((each) => [each, each] as const)
    ]) {
      const earlier = seen.get(key)
      if (earlier !== undefined) {
        const spelt = earlier.text === text ? '' : `, as ${earlier.text}`
        return `${text} is in line ${earlier.line} as well${spelt}`
      }
      seen.set(key, { line, text })
    }
    return undefined
  } catch (error) {
    if (error instanceof AdministrationError) return error.message
    throw error
  }
}

/** The service would never verify such a hash. The line was read before without a problem. */
function problemOfMemory(text: string, passwordMemory: number): string | undefined {
  const { passwordHash } = readImportedUser(text)
  const { bytes } = passwordHash === undefined ? { bytes: 0 } : costOf(passwordHash)
  if (bytes <= passwordMemory) return undefined
  const [needed, allowed] = [bytes, passwordMemory].map((each) => Math.ceil(each / 2 ** 20))
  return `password_hash: it needs ${needed} MiB of memory, and PASSWORD_MEMORY is ${allowed}`
}

async function* batchesOf(
  lines: AsyncIterable<string>,
  invalid: ReadonlySet<number>
): AsyncGenerator<readonly ReadLine[]> {
  let batch: ReadLine[] = []
  let line = 0
  for await (const text of lines) {
    line += 1
    if (text.trim() === '' || invalid.has(line)) continue
    batch.push({ line, user: readImportedUser(text) })
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
