// Calculates coefficients from measurements. Pure.
import { median } from '../lib/statistics.mjs'

/**
 * A design of Plackett and Burman: 12 runs for up to 11 factors, each at its low or its high level. Every run measures
 * every factor, so few runs are enough.
 */
const FIRST_RUN = [1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0]

/**
 * @param levels for each factor `[low, high]`
 * @returns 12 runs, each the level of every factor
 */
export function designOf(levels) {
  const factors = Object.keys(levels)
  const shifted = (by) => FIRST_RUN.map((_, index) => FIRST_RUN[(index + by) % FIRST_RUN.length])
  const runs = [...FIRST_RUN.map((_, by) => shifted(by)), FIRST_RUN.map(() => 0)]
  return runs.map((run) => Object.fromEntries(factors.map((factor, index) => [factor, levels[factor][run[index]]])))
}

/**
 * Least squares: `value = base + sum of rate × coefficient`.
 * @param points each `{ rates, value }`; `rates` is for each name
 * @param names those that the value can depend on
 * @returns `base` and the coefficient of each name; no cost is below zero
 */
export function fitLine(points, names) {
  const rows = points.map(({ rates }) => [1, ...names.map((name) => rates[name])])
  const size = names.length + 1
  const matrix = Array.from({ length: size }, (_, row) => [
    ...Array.from({ length: size }, (_, column) => sum(rows.map((one) => one[row] * one[column]))),
    sum(rows.map((one, index) => one[row] * points[index].value))
  ])
  const [base, ...slopes] = solve(matrix).map((value) => Math.max(0, value))
  return { base, ...Object.fromEntries(names.map((name, index) => [name, slopes[index]])) }
}

/** Points of the same run of several rounds become one: the median of the values, so that other load changes little. */
export function medianPoints(rounds) {
  return rounds[0].map((_, run) => {
    const same = rounds.map((round) => round[run])
    const names = Object.keys(same[0].rates)
    return {
      rates: Object.fromEntries(names.map((name) => [name, median(same.map(({ rates }) => rates[name]))])),
      value: median(same.map(({ value }) => value))
    }
  })
}

/** Gaussian elimination of a matrix with the right side as its last column. */
function solve(matrix) {
  const size = matrix.length
  for (let column = 0; column < size; column++) {
    const best = matrix
      .slice(column)
      .reduce((most, row) => (Math.abs(row[column]) > Math.abs(most[column]) ? row : most))
    if (Math.abs(best[column]) < 1e-12) throw new Error('the runs do not distinguish the operations')
    matrix.splice(matrix.indexOf(best), 1)
    matrix.splice(column, 0, best)
    for (const row of matrix) {
      if (row === best) continue
      const factor = row[column] / best[column]
      for (let index = column; index <= size; index++) row[index] -= factor * best[index]
    }
  }
  return matrix.map((row, index) => row[size] / row[index])
}

const sum = (values) => values.reduce((total, value) => total + value, 0)
