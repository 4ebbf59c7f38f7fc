import type { Logger } from 'pino'
import type { StoreProblem } from './store-problem.js'

/** Whether a dependency of this process can be used: one place for the log, the gauge and `/readyz`. */
export type StoreState = {
  readonly name: string
  readonly logger: Logger | undefined
  /** A statement, a command, a connection or a probe failed. The log says so once for each reason. */
  failed(problem: StoreProblem): void
  /** A probe succeeded. A request alone does not say that: some may succeed while others fail. */
  probed(): void
  /** Undefined until it is known. */
  isUp(): boolean | undefined
}

/**
 * @param name as it stands in the log and in `valetkey_dependency_up`
 * @param logger gets one line for each change, `dependency_unavailable` or `dependency_available`
 */
export function createStoreState(name: string, logger?: Logger): StoreState {
  let isUp: boolean | undefined
  /** Each reason is logged once, until it is up again: several may come in turns. */
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

/** What fails because of another failure that is known already: it says less. */
const isVague = ({ reason }: StoreProblem): boolean => /^(cannot be reached|does not answer)/.test(reason)
