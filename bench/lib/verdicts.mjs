import { table } from './figures.mjs'
import { median, quantile } from './statistics.mjs'

/** The ratio in each round, because other load on the machine changes between rounds. */
export function ratiosOf(figures, { operation, of, to, what = 'server' }) {
  const base = figures.get(to)
  return figures
    .get(of)
    .map((round, index) => round[operation][what] / base[index][operation][what])
    .filter((ratio) => Number.isFinite(ratio))
}

/** The ratio of the lower quartiles: other load only adds time, so the lower quartile contains the least of it. */
export function quartileRatio(figures, { operation, of, to, what = 'server' }) {
  const [measured, base] = [of, to].map((name) =>
    quantile(
      figures.get(name).map((round) => round[operation][what]),
      0.25
    )
  )
  return measured / base
}

/** @param goals each `{ name, operation, of, to, what, most }`: the paired median may be at most `most` */
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
      name,
      ...[most, ratio, quartiles].map((value) => value.toFixed(2)),
      exceedsGoal ? '**over**' : 'within'
    ])
  )
}
