import { MAX_OFFSET_MS } from '../clock/database-clock.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const NOTABLE_MS = 2_000

/** @param offsetMs by how much the other clock is ahead */
export function evaluateClock(check: string, offsetMs: number): Finding {
  const size = Math.abs(offsetMs)
  if (size <= NOTABLE_MS) return ok(check, 'within 2 s of the clock of this machine')
  const complaint = {
    what: `is ${(size / 1_000).toFixed(1)} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    why: 'Codes, tokens and sessions start and expire too early or too late.',
    fix: 'synchronize the clocks of all machines with NTP'
  }
  return size > MAX_OFFSET_MS ? fatal(check, complaint) : warning(check, complaint)
}

/** How far the other clock is ahead, assuming that both directions take equally long. */
export async function measureClock(ask: () => Promise<number>): Promise<number> {
  const before = Date.now()
  const theirs = await ask()
  return theirs - (before + Date.now()) / 2
}
