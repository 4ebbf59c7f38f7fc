import type { StoreState } from '../stores/store-state.js'
import type { Metrics } from './metrics.js'

/** Whether each dependency can be used, as far as that is known; there is no line for one that is not. */
export function watchDependencyStates(metrics: Metrics, states: readonly StoreState[]): void {
  metrics.gauge(
    { name: 'valetkey_dependency_up', help: '1 while the dependency can be used, 0 while it cannot.' },
    () =>
      states.flatMap((state) => {
        const isUp = state.isUp()
        return isUp === undefined ? [] : [{ labels: { dependency: state.name }, value: Number(isUp) }]
      })
  )
}
