export type PostgresReplicas = {
  /** URL of a superuser at the stable address. */
  url: string
  /** Waits until the standby has received all that was committed until now. */
  replicated(): Promise<void>
  /** Makes a new standby of the current primary, if there is none, and waits until it follows. */
  addStandby(): Promise<void>
  /** Promotes the standby; the stable address leads to it. @returns the time of the end */
  promote(): Promise<number>
  /** The stable address. */
  front: { cut(): void; silence(words: RegExp): number; pointTo(port: number): void }
  setSynchronous(isSynchronous: boolean): Promise<void>
  isolateStandby(): void
  rejoinStandby(): void
  /**
   * @param staysSilent its connections stay open without an answer; by default they are closed
   * @returns the time
   */
  endPrimary(staysSilent?: boolean): Promise<number>
  removeFormer(): void
  close(): Promise<void>
}

export function startPostgresReplicas(tools: { directory: string; processes: unknown }): Promise<PostgresReplicas>
