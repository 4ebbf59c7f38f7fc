/** Runs every contender once in a round: A B C, then C B A, so that other load on the machine affects all equally. */
export async function inRounds(contenders, rounds, measure) {
  const figures = new Map(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const contender of inTurn(contenders, round)) figures.get(contender.name).push(await measure(contender))
  }
  return figures
}

/**
 * The same for each step: all contenders do the first step, one after the other, then the next step.
 * @param measure gets the contender and the name of the step
 * @returns name → one figure for each step of each round
 */
export async function inRoundsOfSteps({ contenders, steps, rounds }, measure) {
  const figures = new Map(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name } of contenders) figures.get(name).push({})
    for (const step of steps) {
      for (const contender of inTurn(contenders, round)) {
        if (!contender.steps.includes(step)) continue
        figures.get(contender.name)[round][step] = await measure(contender, step)
      }
    }
  }
  return figures
}

const inTurn = (contenders, round) => (round % 2 === 0 ? contenders : contenders.toReversed())
