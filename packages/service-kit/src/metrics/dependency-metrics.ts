import type { StoreState } from '../stores/store-state.js'
import type { Metrics } from './metrics.js'

/** Whether each dependency is available; without a sample while that is unknown. */
export function watchDependencyStates(metrics: Metrics, states: readonly StoreState[]): void {
  metrics.gauge({ name: 'valetkey_dependency_up', help: '1 while the dependency is available, else 0.' }, () =>
    states.flatMap((state) => {
      const isUp = state.isUp()
      return isUp === undefined ? [] : [{ labels: { dependency: state.name }, value: Number(isUp) }]
    })
  )
}
