export type Labels = Readonly<Record<string, string>>

/** One exposed line. `metricName` is for a part of a metric, such as the count of a histogram. */
export type Sample = { labels?: Labels; value: number; metricName?: string }
