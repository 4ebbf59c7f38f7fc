export type Labels = Readonly<Record<string, string>>

/** One line of what is exposed. `metricName` where it is a part of its metric, such as the count of a histogram. */
export type Sample = { labels?: Labels; value: number; metricName?: string }
