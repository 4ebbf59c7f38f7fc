// npm run bench:password-queue: cost of introspection while sign-ins keep every hash worker busy, compared with the cost
// while another process hashes as much. Both share the processor's caches with the hashing, so the ratio shows the effect
// of sign-ins in the same process. Only the main thread of the authorization server is measured; the part of the sign-ins
// is measured separately and subtracted. Rounds are interleaved, on 127.0.0.1; takes about two minutes. Linux only.
// With -- --bcrypt, the user was imported with a bcrypt hash of cost 10.
import { spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startAuthorizationServer } from './lib/authorization-server.mjs'
import { keepSending } from './lib/keep-sending.mjs'
import { mainThreadSeconds } from './lib/main-thread.mjs'

const ROUNDS = 5
const SECONDS = 4
const CALLERS = 16
// More than the number of workers and fewer than the limit of the queue, so that all workers are busy and none is refused.
const PEOPLE = process.argv.includes('--bcrypt') ? 20 : 60

// The password is wrong anyway.
const BCRYPT = `$2b$10$${'abcdefghijklmnopqrstuu'.padEnd(53, 'abcde')}`

const server = await startAuthorizationServer()
try {
  const introspect = await server.introspection()
  const signIn = await server.failingSignIn(process.argv.includes('--bcrypt') ? BCRYPT : undefined)
  await measure({ introspect: CALLERS })
  const ratios = []
  for (let round = 1; round <= ROUNDS; round++) {
    const alone = await measure({ introspect: CALLERS })
    const outside = await besideHashing(() => measure({ introspect: CALLERS }))
    const signInsAlone = await measure({ signIn: PEOPLE })
    const inside = await measure({ introspect: CALLERS, signIn: PEOPLE })
    const perSignIn = signInsAlone.seconds / signInsAlone.signIns
    const outsideCost = outside.seconds / outside.introspections
    const insideCost = (inside.seconds - inside.signIns * perSignIn) / inside.introspections
    ratios.push(insideCost / outsideCost)
    console.log(
      `round ${round}: introspection ${microseconds(alone.seconds / alone.introspections)} alone, ` +
        `${microseconds(outsideCost)} beside hashing elsewhere, ${microseconds(insideCost)} beside ` +
        `${Math.round(inside.signIns / SECONDS)} sign-ins/s; ratio ${(insideCost / outsideCost).toFixed(2)}`
    )
  }
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]
  console.log(`median ratio ${median.toFixed(2)} (1.00: sign-ins cost introspection nothing)`)

  async function measure(senders) {
    const before = mainThreadSeconds(server.pid)
    const running = {
      introspections: keepSending(introspect, senders.introspect ?? 0),
      signIns: keepSending(signIn, senders.signIn ?? 0)
    }
    await wait(SECONDS * 1000)
    const [introspections, signIns] = await Promise.all([running.introspections.stop(), running.signIns.stop()])
    return { introspections, signIns, seconds: mainThreadSeconds(server.pid) - before }
  }
} finally {
  await server.stop()
}

async function besideHashing(run) {
  const hashing = spawn(process.execPath, [fileURLToPath(new URL('lib/hash-passwords.mjs', import.meta.url))])
  try {
    return await run()
  } finally {
    hashing.kill()
  }
}

function microseconds(seconds) {
  return `${Math.round(seconds * 1e6)} µs`
}
