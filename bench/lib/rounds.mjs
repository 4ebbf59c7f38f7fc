/** Every contender once a round, A B C and then C B A, so that what else the machine does falls on all alike. */
export async function inRounds(contenders, rounds, measure) {
  const figures = new Map(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      figures.get(contender.name).push(await measure(contender))
    }
  }
  return figures
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
