// One round of a contender: the steps of the flow one after the other, each by itself, then the whole flow.
import { measure, SENDERS } from './measure.mjs'
import { operationsOf } from './operations.mjs'
import { sendAll } from './send-all.mjs'

/** How many access tokens a resource server sees again and again, as in life: a cache may help. */
export const TOKENS_IN_USE = 500

/** @returns what each of `steps` cost; they are measured in the order of the flow, which each needs */
export async function wholeFlow(target, stores, { count, steps }) {
  const operations = operationsOf(target)
  const figures = {}
  try {
    const codes = []
    await step('authorize', count, async () => codes.push(await operations.authorize()))
    const tokens = []
    await step('exchange', count, async (number) => tokens.push(await operations.exchange(codes[number])))
    await step('introspect', count, (number) => operations.introspect(tokens[number]))
    await step('files', count, (number) => operations.files(tokens[number % Math.min(TOKENS_IN_USE, tokens.length)]))
    await step('flow', count >> 1, operations.flow)
    return figures
  } finally {
    operations.close()
  }

  async function step(name, requests, send) {
    if (steps.includes(name)) {
      figures[name] = await measure({ pids: target.pids, stores, count: requests, send })
    } else if (name === 'authorize' || name === 'exchange') {
      // What comes later needs a code and a token for each of the few that are in use.
      await sendAll(send, { count: Math.min(requests, TOKENS_IN_USE), senders: SENDERS })
    }
  }
}
