// What the service writes because grants were used: it collects uses and writes them some seconds later.
import { setTimeout as wait } from 'node:timers/promises'
import { sendAll } from './send-all.mjs'

const GRANTS = 1_000
const SENDERS = 32
/** Longer than the service collects uses. */
const LATER_MS = 10_000
const NOTES_USES = 'note_grant_use'

/**
 * @param operation `prepare(count)` creates tokens of that number of new grants; `send(one)` introspects
 * @param instance see startCounted
 */
export async function countUses({ prepare, send }, instance) {
  const tokens = await prepare(GRANTS)
  const introspectAll = () => sendAll((number) => send(tokens[number]), { count: GRANTS, senders: SENDERS })
  await wait(LATER_MS)
  // Periodic work writes about the same while nothing is sent.
  const idle = await countDuring(instance, async () => {})
  const recent = await countDuring(instance, introspectAll)
  await instance.ageUses()
  const earlier = await countDuring(instance, introspectAll)
  return {
    sent: [{ name: NOTES_USES, count: recent.statements + earlier.statements }],
    counters: {
      'statements for 1,000 grants used within the hour': recent.statements,
      'WAL bytes for a grant used within the hour': Math.max(0, recent.wal - idle.wal) / GRANTS,
      'statements for 1,000 grants used earlier': earlier.statements
    }
  }
}

async function countDuring(instance, work) {
  const wal = await instance.walPosition()
  const statements = notesIn(instance)
  await work()
  await wait(LATER_MS)
  return { wal: (await instance.walPosition()) - wal, statements: notesIn(instance) - statements }
}

const notesIn = ({ sql }) => sql.counts().get(NOTES_USES) ?? 0
