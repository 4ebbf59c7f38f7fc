import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

/** The library of the program `faketime`. It changes the clock of a single process. */
function library(): string {
  const { stdout } = spawnSync('faketime', ['-m', '-f', '+0', 'sh', '-c', 'printf %s "$LD_PRELOAD"'], {
    encoding: 'utf8'
  })
  if (stdout === '') throw new Error('This needs faketime on PATH.')
  return stdout
}

/** The variables that change the clock of a process by an offset such as `+400d` or `-1h`. */
export const wrongClock = (offset: string): Record<string, string> => ({ LD_PRELOAD: library(), FAKETIME: offset })

/**
 * A clock that can be changed while its process runs.
 * @param options.timersToo also changes the monotonic clock: timers that are due at the new time run at once. Only forward,
 *   because Node aborts if its monotonic clock goes back
 */
export function movableClock(directory: string, { timersToo }: { timersToo: boolean }) {
  const file = path.join(directory, 'clock')
  const set = (offset: string) => writeFileSync(file, offset)
  set('+0')
  const environment = {
    LD_PRELOAD: library(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    ...(!timersToo && { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' })
  }
  return { environment, set }
}
