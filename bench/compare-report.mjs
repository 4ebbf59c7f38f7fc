// Prints the results of bench/compare.mjs as Markdown, and writes them with a chart to docs/performance.md.
import { costChart } from './lib/chart.mjs'
import { table, writeFigures, writePicture } from './lib/figures.mjs'
import { SENDERS } from './lib/measure.mjs'
import { majorOf } from './lib/nodes.mjs'
import { median, quantile } from './lib/statistics.mjs'
import { evaluate, quartileRatio, ratiosOf, verdictTable } from './lib/verdicts.mjs'
import { TOKENS_IN_USE } from './lib/whole-flow.mjs'

const PAGE = 'performance.md'
const PICTURE = 'images/performance.svg'
// Quartiles of fewer rounds are not written.
const ROUNDS_TO_WRITE = 24
const FLOORS = { plain: 'floor', coalesced: 'floor, coalesced', withFeatures: 'floor with features' }
const PEERS = ['oidc-provider', '@node-oauth/oauth2-server']

const TITLES = {
  authorize: 'A code: `GET /oauth/authorize`, signed in and allowed before',
  exchange: 'Exchange: `POST /token`',
  together: 'A code and its exchange',
  introspect: 'Introspection: `POST /introspect`',
  files: `Files: \`GET /v1/files\`, 50 files, ${TOKENS_IN_USE} tokens in use; both servers`,
  flow: 'Whole flow: a code, its exchange, one page of files; both servers'
}
const OPERATIONS = Object.keys(TITLES)

const ours = { of: 'valetkey', what: 'server' }
const GOALS = [
  { ...ours, name: 'code / floor with features', operation: 'authorize', to: FLOORS.withFeatures, most: 1.3 },
  { ...ours, name: 'exchange / floor with features', operation: 'exchange', to: FLOORS.withFeatures, most: 1.3 },
  { ...ours, name: 'introspection / floor with features', operation: 'introspect', to: FLOORS.withFeatures, most: 1.3 },
  { ...ours, name: 'exchange / floor', operation: 'exchange', to: FLOORS.plain, most: 1.2 },
  { ...ours, name: 'introspection / floor', operation: 'introspect', to: FLOORS.plain, most: 1 },
  {
    ...ours,
    name: 'code + exchange / floor, total',
    operation: 'together',
    what: 'total',
    to: FLOORS.plain,
    most: 1.1
  },
  { ...ours, name: 'files / floor', operation: 'files', to: FLOORS.plain, most: 0.65 },
  {
    ...ours,
    name: 'files with a cache / floor',
    of: 'valetkey, cache',
    operation: 'files',
    to: FLOORS.plain,
    most: 0.45
  }
]
const PEER_GOALS = OPERATIONS.flatMap((operation) =>
  PEERS.flatMap((to) =>
    ['server', 'total'].map((what) => ({ ...ours, operation, what, to, most: mostOf(operation, to) }))
  )
)

function mostOf(operation, peer) {
  return operation === 'together' && peer === '@node-oauth/oauth2-server' ? 0.85 : 1
}

/** Adds to each round the cost of a code plus its exchange. */
export function withTogether(figures) {
  for (const round of [...figures.values()].flat()) {
    const { authorize, exchange } = round
    if (authorize === undefined) continue
    const sums = ['server', 'postgres', 'redis', 'total'].map((what) => [what, authorize[what] + exchange[what]])
    const perSecond = 1 / (1 / authorize.perSecond + 1 / exchange.perSecond)
    round.together = { ...Object.fromEntries(sums), perSecond, other: (authorize.other + exchange.other) / 2 }
  }
  return figures
}

/** @param results one for each Node, that of the images first @returns the exit code: 1 when a goal is missed */
export function publish(results, { rounds, requests }) {
  const method = `${rounds} interleaved rounds, slices of ${requests} requests, ${SENDERS} at a time.`
  const [first, ...others] = results
  const { figures } = first
  const title = 'Processor time of a request: servers, Postgres and Redis beside the coalesced floor'
  const picture = costChart({ title, panels: panelsOf(figures), unit: 'µs' })
  const markdown = [
    `${first.machine}. ${method}`,
    `![${title}](${PICTURE})`,
    goalsOf(figures),
    ...OPERATIONS.map((operation) => `### ${TITLES[operation]}\n\n${figuresOf(operation, figures)}`),
    ...others.map(onAnotherNode)
  ].join('\n\n')
  console.log(markdown)
  // With another folder, the figures of any run are written, for trials.
  if (rounds >= ROUNDS_TO_WRITE || process.env.BENCH_DOCS) {
    writePicture(PICTURE, picture)
    writeFigures(PAGE, 'comparison', markdown)
  } else console.log(`\nnot written: the page needs ${ROUNDS_TO_WRITE} rounds`)
  return evaluate(figures, [...GOALS, ...PEER_GOALS]).some(({ exceedsGoal }) => exceedsGoal) ? 1 : 0
}

/** The goals; those that compare with a peer are in a separate table. */
function goalsOf(figures) {
  const verdicts = evaluate(figures, PEER_GOALS)
  const cell = ({ ratio, exceedsGoal }) => (exceedsGoal ? `**${ratio.toFixed(2)}**` : ratio.toFixed(2))
  const rows = OPERATIONS.map((operation) => [
    TITLES[operation].split(/[:;,]/)[0],
    ...verdicts.filter((one) => one.operation === operation).map(cell)
  ])
  const limits = `valetkey / peer, at most 1.00; a code and its exchange / ${PEERS[1]}: at most 0.85`
  const head = [limits, ...PEERS.flatMap((peer) => [`${peer}, server`, `${peer}, total`])]
  return `${verdictTable(evaluate(figures, GOALS))}\n\n${table(head, rows)}`
}

function onAnotherNode({ version, figures }) {
  const heading = `### The goals on Node ${majorOf(version)}`
  return `${heading}\n\nThe same on Node ${version}, on the same machine.\n\n${goalsOf(figures)}`
}

function figuresOf(operation, figures) {
  const head = [
    '',
    'server µs',
    'quartiles',
    '× coalesced',
    'paired',
    '× floor',
    'Postgres µs',
    'Redis µs',
    'total µs',
    '× coalesced',
    'paired',
    'per second',
    'other load'
  ]
  const rows = contendersOf(operation, figures).map((name) => {
    const of = (what) => figures.get(name).map((round) => round[operation][what])
    const microseconds = (what, part) => (quantile(of(what), part) * 1_000).toFixed(0)
    const pair = { operation, of: name }
    const coalesced = (what) =>
      [quartileRatio, (...asked) => median(ratiosOf(...asked))].map((ratio) =>
        ratio(figures, { ...pair, to: FLOORS.coalesced, what }).toFixed(2)
      )
    return [
      name,
      microseconds('server', 0.5),
      [0.25, 0.75].map((part) => microseconds('server', part)).join('–'),
      ...coalesced('server'),
      median(ratiosOf(figures, { ...pair, to: FLOORS.plain })).toFixed(2),
      ...['postgres', 'redis', 'total'].map((what) => microseconds(what, 0.5)),
      ...coalesced('total'),
      median(of('perSecond')).toFixed(0),
      median(of('other')).toFixed(2)
    ]
  })
  return table(head, rows)
}

function panelsOf(figures) {
  return OPERATIONS.map((operation) => ({
    title: TITLES[operation].replaceAll('`', ''),
    bars: contendersOf(operation, figures).map((name) => {
      const of = (what) =>
        quantile(
          figures.get(name).map((round) => round[operation][what]),
          0.25
        ) * 1_000
      return { name, parts: { server: of('server'), Postgres: of('postgres'), Redis: of('redis') } }
    })
  }))
}

const contendersOf = (operation, figures) => [...figures.keys()].filter((name) => operation in figures.get(name)[0])
