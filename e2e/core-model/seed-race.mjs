// Node imports this into an authorization server (NODE_OPTIONS): it loads one module without a condition (SEEDED_RACE).
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { SEEDED_RACES, withoutCondition } from './seeded-races.mjs'

// Hooks of modules run in a thread of their own, which imports this file again.
if (isMainThread) register(import.meta.url)

const race = SEEDED_RACES.find(({ name }) => name === process.env.SEEDED_RACE)

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  if (race === undefined || !url.endsWith(`/authorization-server/dist/${race.file}.js`)) return loaded
  console.error(`seeded race: ${race.name}`)
  return { ...loaded, source: withoutCondition(race, String(loaded.source)) }
}
