// Prints the results of bench/scale.mjs as Markdown, and writes them to docs/capacity.md.
import { table, writeFigures } from './lib/figures.mjs'
import { median } from './lib/statistics.mjs'
import { ratiosOf } from './lib/verdicts.mjs'

const PAGE = 'capacity.md'
// Results with fewer tokens are not written.
const TOKENS_TO_WRITE = 10_000_000
const MIB = 2 ** 20

/** @returns the exit code: 1 when a goal is missed */
export function reportScale(measured) {
  const goals = evaluateScale(measured)
  const { run, rounds, requests, senders, tokens, few } = measured
  const intro =
    `${run}. ${rounds} interleaved rounds of ${requests} requests, ${senders} at a time; ` +
    `${number(tokens)} live tokens beside ${number(few)}.`
  const verdicts = goals.map(({ name, value, most, unit }) => [
    name,
    `${most} ${unit}`,
    `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`,
    value <= most ? 'within' : '**over**'
  ])
  const markdown = [
    intro,
    table(['goal', 'at most', 'measured', ''], verdicts),
    costs(measured),
    expiry(measured),
    room(measured),
    beyond(measured)
  ].join('\n\n')
  console.log(markdown)
  if (tokens >= TOKENS_TO_WRITE) writeFigures(PAGE, 'scale', markdown)
  else console.log(`\nnot written: the page is about ${number(TOKENS_TO_WRITE)} tokens`)
  return goals.every(({ value, most }) => value <= most) ? 0 : 1
}

function evaluateScale({ figures, expired, ended }) {
  const ratio = (operation, what) => median(ratiosOf(figures, { operation, what, of: 'many', to: 'few' }))
  const middle = (what) => median(expired.map(what))
  return [
    { name: 'introspection, server', value: ratio('introspect', 'server'), most: 1.1, unit: '×' },
    { name: 'introspection, Postgres', value: ratio('introspect', 'postgres'), most: 1.35, unit: '×' },
    { name: 'exchange, server', value: ratio('exchange', 'server'), most: 1.15, unit: '×' },
    { name: "an hour's tokens go", value: middle(({ milliseconds }) => milliseconds), most: 1_000, unit: 'ms' },
    { name: '… and write to the log', value: middle(({ wal }) => wal / MIB), most: 10, unit: 'MiB' },
    {
      name: "… introspection's p99 meanwhile",
      value: middle(({ calm, meanwhile }) => meanwhile / calm),
      most: 2,
      unit: '×'
    },
    { name: 'all tokens of a user end', value: ended.milliseconds, most: 50, unit: 'ms' }
  ]
}

function costs({ figures }) {
  const rows = ['introspect', 'authorize', 'exchange'].flatMap((operation) =>
    [...figures].map(([name, rounds]) => {
      const of = (what) => rounds.map((round) => round[operation][what])
      const server = of('server')
      return [
        `${operation}, ${name}`,
        median(server).toFixed(3),
        `${Math.min(...server).toFixed(3)}–${Math.max(...server).toFixed(3)}`,
        median(of('postgres')).toFixed(3),
        median(of('redis')).toFixed(3),
        median(of('perSecond')).toFixed(0),
        median(of('other')).toFixed(2)
      ]
    })
  )
  return table(['', 'CPU s/1,000', 'least–most', 'Postgres', 'Redis', 'per second', 'other load'], rows)
}

function expiry({ expired, grants, rows, ended, walOfExchange }) {
  const line = (name, { milliseconds, wal, calm, meanwhile }) => [
    name,
    `${milliseconds.toFixed(0)} ms`,
    `${(wal / MIB).toFixed(2)} MiB`,
    `${calm.toFixed(1)} ms`,
    `${meanwhile.toFixed(1)} ms`
  ]
  const head = ['what goes', 'time', 'written to the log', 'p99 before', 'p99 meanwhile']
  const facts = [
    `- Ending ${number(ended.tokens)} live tokens of one user, as \`valetkey users disable\` does: ${ended.milliseconds.toFixed(1)} ms.`,
    `- A code and its exchange write ${number(Math.round(walOfExchange))} bytes to the log of Postgres.`
  ]
  return [
    table(head, [
      ...expired.map((one) => line(`${number(rows)} expired tokens`, one)),
      line(`${number(rows)} expired tokens and their grants`, grants)
    ]),
    facts.join('\n')
  ].join('\n\n')
}

function room({ sizes, connections }) {
  const perRow = ({ rows, heap, indexes }) => [heap, indexes, heap + indexes].map((bytes) => Math.round(bytes / rows))
  const tables = sizes.tables.map((one) => [one.name, number(one.rows), ...perRow(one).map(number)])
  const keys = sizes.keys.map(({ kind, count, bytes }) => [`\`${kind}\``, number(count), number(Math.round(bytes))])
  const [authorization, files] = connections
  return [
    table(['table', 'rows', 'bytes a row', 'of its indexes', 'together'], tables),
    table(['keys of Redis', 'keys', 'bytes each'], keys),
    `- Connections to Postgres after the rounds: ${authorization} of the authorization server, ${files} of the resource server.`
  ].join('\n\n')
}

/** Calculates the required machines for a number of live tokens with a lifetime of one day, from the measured costs. */
function beyond({ figures, sizes, walOfExchange }) {
  const price = (what) => {
    const rounds = figures.get('many')
    return median(rounds.map(({ authorize, exchange }) => authorize[what] + exchange[what])) / 1_000
  }
  const parts = sizes.tables.filter(({ name }) => name === 'access_tokens' || name === 'grants')
  const bytes = (of) => parts.reduce((total, part) => total + of(part) / part.rows, 0)
  const rows = [1e6, 1e7, 1e8, 1e9].map((tokens) => {
    const perSecond = tokens / 86_400
    return [
      number(tokens),
      number(Math.round(perSecond)),
      `${((tokens * bytes(({ heap, indexes }) => heap + indexes)) / 1e9).toFixed(1)} GB`,
      `${((tokens * bytes(({ indexes }) => indexes)) / 1e9).toFixed(1)} GB`,
      `${((perSecond * walOfExchange) / MIB).toFixed(1)} MiB`,
      ...['server', 'postgres', 'redis'].map((what) => (perSecond * price(what)).toFixed(1))
    ]
  })
  const head = [
    'live tokens',
    'exchanges a second',
    'tokens and grants',
    'indexes',
    'log a second',
    'cores: servers',
    'Postgres',
    'Redis'
  ]
  return `Arithmetic from the prices above, for tokens that live for a day:\n\n${table(head, rows)}`
}

const number = (value) => value.toLocaleString('en-GB')
