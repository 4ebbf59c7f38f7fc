import { type Command, InvalidArgumentError } from 'commander'
import type { CommandDeps } from './command-deps.js'

/**
 * The option of every command that prints a list.
 * @param most the default; undefined: all entries @param highest the largest accepted value
 */
export function addLimitOption(command: Command, most?: number, highest = 999_999): Command {
  const read = (given: string) => readLimit(given, highest)
  return command.option('--limit <number>', 'print at most this many', read, most)
}

/** @param found one entry more than `limit` is enough. Says on stderr that entries are missing. */
export function upTo<Entry>(
  limit: number | undefined,
  found: readonly Entry[],
  what: string,
  { say }: Pick<CommandDeps, 'say'>
): readonly Entry[] {
  if (limit === undefined || found.length <= limit) return found
  say(`There are more than ${limit} ${what}: raise --limit.\n`)
  return found.slice(0, limit)
}

function readLimit(given: string, highest: number): number {
  if (/^[1-9][0-9]{0,5}$/.test(given) && Number(given) <= highest) return Number(given)
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${highest}.`)
}
