// The steps of the flow, as one contender is asked for them in each round.
import { SENDERS } from './measure.mjs'
import { operationsOf } from './operations.mjs'
import { sendAll } from './send-all.mjs'

/** How many access tokens a resource server sees again and again, as in life: a cache may help. */
export const TOKENS_IN_USE = 500

/**
 * @returns a function for each step, which sends one request and is told its number. An exchange uses the code that the
 *   step `authorize` got under the same number, an introspection the token of that exchange.
 */
export async function stepsOf(target) {
  const operations = operationsOf(target)
  const codes = []
  const tokens = []
  const inUse = []
  const steps = {
    async authorize(number) {
      codes[number] = await operations.authorize()
    },
    async exchange(number) {
      tokens[number] = await operations.exchange(codes[number])
    },
    introspect: (number) => operations.introspect(tokens[number]),
    files: (number) => operations.files(inUse[number % inUse.length]),
    flow: operations.flow
  }
  const collect = async () => inUse.push(await operations.exchange(await operations.authorize()))
  await sendAll(collect, { count: TOKENS_IN_USE, senders: SENDERS })
  return steps
}
