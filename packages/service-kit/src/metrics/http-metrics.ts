import { type Buckets, createBuckets } from './histogram.js'
import type { Metrics } from './metrics.js'
import type { RouteGroup } from './route-groups.js'
import type { Labels } from './sample.js'

/** `unknown`: the request reached no route. */
type CountedRoute = { route: string; group: RouteGroup | 'unknown' }

/** Counts the requests of one listener. */
export type HttpMeter = {
  /** @param counted.route the template of the route: the actual path would create a time series for each request */
  responded(counted: CountedRoute, method: string, status: number, milliseconds: number): void
  /** A request that reached no route. */
  unreadable(): void
}

const NAME = 'valetkey_http_request_duration_seconds'
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** Rate, errors and duration of each route, for all listeners of a process. */
export function createHttpMetrics(metrics: Metrics, listeners: readonly string[]): (listener: string) => HttpMeter {
  const series: { labels: Labels; buckets: Buckets }[] = []
  metrics.histogramOf({ name: NAME, help: 'Duration of requests, by route, method and class of the status.' }, () =>
    series.flatMap(({ labels, buckets }) => buckets.samples(NAME, labels))
  )
  const unreadable = metrics.counter(
    {
      name: 'valetkey_http_unreadable_requests_total',
      help: 'Requests that could not be read, so no route handled them.'
    },
    { listener: listeners }
  )

  return (listener) => {
    // Two lookups, by route and by number, without building a key string for each request.
    const routes = new Map<string, (Buckets | undefined)[]>()

    function newSeries({ route, group }: CountedRoute, methodAt: number, classAt: number): Buckets {
      const labels = {
        listener,
        route_group: group,
        route,
        method: METHODS[methodAt] ?? 'other',
        status: CLASSES[classAt] ?? 'other'
      }
      const buckets = createBuckets(BOUNDS)
      series.push({ labels, buckets })
      return buckets
    }

    return {
      responded(counted, method, status, milliseconds) {
        const { route } = counted
        let known = routes.get(route)
        if (known === undefined) {
          known = []
          routes.set(route, known)
        }
        const methodAt = METHODS.indexOf(method)
        const classAt = Math.floor(status / 100) - 1
        const at = (methodAt + 1) * CLASSES.length + classAt
        known[at] ??= newSeries(counted, methodAt, classAt)
        known[at].observe(milliseconds / 1_000)
      },
      unreadable: () => unreadable.add(listener)
    }
  }
}
