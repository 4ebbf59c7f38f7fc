/** @param part 0.25 for the lower quartile, 0.5 for the median; interpolates between two values */
export function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return low + (high - low) * (place % 1)
}

export const median = (values) => quantile(values, 0.5)
