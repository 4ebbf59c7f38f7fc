import { table } from './figures.mjs'
import { median, quantile } from './statistics.mjs'

/** The ratio of each round by itself, for what else the machine does changes from one round to the next. */
export function ratiosOf(figures, { operation, of, to, what = 'server' }) {
  const base = figures.get(to)
  return figures
    .get(of)
    .map((round, index) => round[operation][what] / base[index][operation][what])
    .filter((ratio) => Number.isFinite(ratio))
}

/** The ratio of the lower quartiles: what else the machine does only adds, so the lower quarter has the least of it. */
export function quartileRatio(figures, { operation, of, to, what = 'server' }) {
  const [measured, base] = [of, to].map((name) =>
    quantile(
      figures.get(name).map((round) => round[operation][what]),
      0.25
    )
  )
  return measured / base
}

/** @param goals `{ name, operation, of, to, what, most }` each: the paired median may be `most` */
export function evaluate(figures, goals) {
  return goals.map((goal) => {
    const ratio = median(ratiosOf(figures, goal))
    return { ...goal, ratio, quartiles: quartileRatio(figures, goal), exceedsGoal: !(ratio <= goal.most) }
  })
}

export function verdictTable(verdicts) {
  return table(
    ['goal', 'at most', 'paired median', 'quartiles', ''],
    verdicts.map(({ name, most, ratio, quartiles, exceedsGoal }) => [
      ...[name, ...[most, ratio, quartiles].map((value) => value.toFixed(2))],
      exceedsGoal ? '**over**' : 'within'
    ])
  )
}
