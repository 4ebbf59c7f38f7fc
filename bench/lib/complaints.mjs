import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The last lines in which a service complained, of all logs in a folder: what a benchmark that failed says about it. */
export function complaintsIn(directory, most = 5) {
  const logs = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.log'))
  return logs.flatMap((file) => {
    const lines = readFileSync(path.join(directory, file), 'utf8').split('\n')
    // pino's levels: 40 is a warning. What comes from elsewhere has none.
    const complaints = lines.filter((line) => /"level":[4-6]0/.test(line)).slice(-most)
    return complaints.map((line) => `${file}: ${line.slice(0, 1_000)}`)
  })
}
