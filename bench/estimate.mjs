// npm run capacity -- --users 1000000 --refreshes-per-second 50: what an installation of that size needs, by the capacity
// model (docs/capacity.md). --json prints JSON. Measures nothing.
import { parseArgs } from 'node:util'
import { readCoefficients } from './capacity/coefficients.mjs'
import { DEFAULTS, OPTIONS } from './capacity/input.mjs'
import { growth } from './capacity/limits.mjs'
import { predict } from './capacity/model.mjs'
import { growthTable, needsTable } from './capacity/report.mjs'

const FACTORS = [1, 10, 100, 1_000]

const texts = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, { type: 'string' }]))
const flags = { json: { type: 'boolean' }, growth: { type: 'boolean' }, help: { type: 'boolean' } }

try {
  const { values } = parseArgs({ options: { ...texts, ...flags } })
  if (values.help) console.log(help())
  else print(values)
} catch (error) {
  console.error(`${error.message}\n\n${help()}`)
  process.exitCode = 2
}

function print({ json, growth: asksForGrowth, help: _, ...given }) {
  const options = { ...DEFAULTS, ...numbersOf(given) }
  const coefficients = readCoefficients()
  const predicted = predict(options, coefficients)
  if (json) return console.log(JSON.stringify({ options, predicted, coefficients: coefficients.run }, null, 2))
  console.log(`Coefficients: ${coefficients.run}.\n\n${needsTable(predicted)}`)
  if (asksForGrowth) console.log(`\n${growthTable(growth(options, FACTORS, coefficients), FACTORS)}`)
}

function numbersOf(given) {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      const value = Number(text)
      if (text.trim() === '' || !Number.isFinite(value) || value < 0)
        throw new Error(`--${name} must be a number, 0 or more.`)
      return [name, value]
    })
  )
}

function help() {
  const lines = Object.entries(OPTIONS).map(
    ([name, { value, meaning }]) => `  --${name.padEnd(22)} ${meaning}${value === undefined ? '' : ` (${value})`}`
  )
  return [
    'npm run capacity -- [options]',
    ...lines,
    '  --growth               also what breaks first at 10, 100, 1,000 times',
    '  --json'
  ].join('\n')
}
