import { table } from './figures.mjs'
import { median } from './rounds.mjs'

/** The ratio of each round by itself, for what else the machine does changes from one round to the next. */
export function ratiosOf(figures, { operation, of, to, what = 'server' }) {
  const base = figures.get(to)
  return figures
    .get(of)
    .map((round, index) => round[operation][what] / base[index][operation][what])
    .filter((ratio) => Number.isFinite(ratio))
}

/** @param goals `{ name, operation, of, to, most }` each: the median ratio may be `most` */
export function judge(figures, goals) {
  return goals.map((goal) => {
    const ratio = median(ratiosOf(figures, goal))
    return { ...goal, ratio, isOver: !(ratio <= goal.most) }
  })
}

export function verdictTable(verdicts) {
  return table(
    ['goal', 'at most', 'measured', ''],
    verdicts.map(({ name, most, ratio, isOver }) => [
      name,
      most.toFixed(2),
      ratio.toFixed(2),
      isOver ? '**over**' : 'within'
    ])
  )
}
