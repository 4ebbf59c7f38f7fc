import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

/** What the program `faketime` loads into a process; it sets the clock of that process alone. */
function library(): string {
  const { stdout } = spawnSync('faketime', ['-m', '-f', '+0', 'sh', '-c', 'printf %s "$LD_PRELOAD"'], {
    encoding: 'utf8'
  })
  if (stdout === '') throw new Error('This needs faketime on PATH.')
  return stdout
}

/** The variables of a process whose clock is off by that much from its start on, such as `+400d` or `-1h`. */
export const wrongClock = (offset: string): Record<string, string> => ({ LD_PRELOAD: library(), FAKETIME: offset })

/**
 * A clock that can be set while its process runs.
 * @param options.timersToo moves the monotonic clock as well: timers that are due by the new time run at once. Forward only,
 *   for Node ends a process whose monotonic clock goes back
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
