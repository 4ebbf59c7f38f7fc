// npm run bench:password-queue: what introspection costs while sign-ins keep every hash worker busy, beside what it costs
// alone. Only the main thread of the authorization server is charged; what the sign-ins themselves take of it is measured
// by itself and taken off. Three phases a round, rounds interleaved, all of it on 127.0.0.1, in about a minute and a half.
import { setTimeout as wait } from 'node:timers/promises'
import { startAuthorizationServer } from './lib/authorization-server.mjs'
import { keepSending } from './lib/keep-sending.mjs'
import { mainThreadSeconds } from './lib/main-thread.mjs'

const ROUNDS = 5
const SECONDS = 4
const CALLERS = 16
// More than are hashed at once, fewer than may wait: the workers never rest, and nobody is turned away.
const PEOPLE = 60

const server = await startAuthorizationServer()
try {
  const introspect = await server.introspection()
  const signIn = await server.failingSignIn()
  await measure({ introspect: CALLERS })
  const ratios = []
  for (let round = 1; round <= ROUNDS; round++) {
    const alone = await measure({ introspect: CALLERS })
    const signInsAlone = await measure({ signIn: PEOPLE })
    const together = await measure({ introspect: CALLERS, signIn: PEOPLE })
    const perSignIn = signInsAlone.seconds / signInsAlone.signIns
    const aloneCost = alone.seconds / alone.introspections
    const togetherCost = (together.seconds - together.signIns * perSignIn) / together.introspections
    ratios.push(togetherCost / aloneCost)
    console.log(
      `round ${round}: introspection ${microseconds(aloneCost)} alone, ${microseconds(togetherCost)} beside ` +
        `${Math.round(together.signIns / SECONDS)} sign-ins/s; ratio ${(togetherCost / aloneCost).toFixed(2)}`
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

function microseconds(seconds) {
  return `${Math.round(seconds * 1e6)} µs`
}
