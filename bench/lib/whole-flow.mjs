// The requests of each step of the flow, for one contender and round.
import { SENDERS } from './measure.mjs'
import { operationsOf } from './operations.mjs'
import { sendAll } from './send-all.mjs'

/** The number of access tokens that a resource server receives repeatedly, so that a cache can work. */
export const TOKENS_IN_USE = 500

/**
 * @returns a function for each step, which gets the number of the request and sends it. An exchange uses the code of the
 *   step `authorize` with the same number; an introspection uses the token of that exchange.
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
