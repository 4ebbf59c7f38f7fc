import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The last warnings and errors in all logs of a folder, for the message of a failed benchmark. */
export function complaintsIn(directory, most = 5) {
  const logs = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.log'))
  return logs.flatMap((file) => {
    const lines = readFileSync(path.join(directory, file), 'utf8').split('\n')
    // pino's level 40 is a warning. Lines of other programs have no level.
    const complaints = lines.filter((line) => /"level":[4-6]0/.test(line)).slice(-most)
    return complaints.map((line) => `${file}: ${line.slice(0, 1_000)}`)
  })
}
