import type { Logger } from 'pino'
import type { StoreProblem } from './store-problem.js'

/** Whether a dependency of this process is available. Shared by the log, the gauge and `/readyz`. */
export type StoreState = {
  readonly name: string
  readonly logger: Logger | undefined
  /** A statement, a command, a connection or a probe failed. Logged once for each reason. */
  failed(problem: StoreProblem): void
  /** A probe succeeded. A successful request is not sufficient, because others may fail at the same time. */
  probed(): void
  /** Undefined before the first result. */
  isUp(): boolean | undefined
}

/**
 * @param name for the log and for `valetkey_dependency_up`
 * @param logger gets one line for each change, `dependency_unavailable` or `dependency_available`
 */
export function createStoreState(name: string, logger?: Logger): StoreState {
  let isUp: boolean | undefined
  /** Each reason is logged once until the dependency is available again, because several may alternate. */
  const logged = new Set<string>()

  return {
    name,
    logger,
    failed(problem) {
      isUp = false
      const { reason, remedy } = problem
      if (logged.has(reason) || (logged.size > 0 && isVague(problem))) return
      logged.add(reason)
      const fields = { event: 'dependency_unavailable', dependency: name, reason, ...(remedy && { remedy }) }
      logger?.warn(fields, `${name} ${reason}`)
    },
    probed() {
      if (isUp === false) {
        logger?.info({ event: 'dependency_available', dependency: name }, `${name} is available again`)
      }
      isUp = true
      logged.clear()
    },
    isUp: () => isUp
  }
}

/** Probably a consequence of a more precise problem that was already logged. */
const isVague = ({ reason }: StoreProblem): boolean => /^(cannot be reached|does not respond)/.test(reason)
