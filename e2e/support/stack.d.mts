/** What a person reads on the terminal once everything runs. */
export type Addresses = {
  issuer: string
  internalUrl: string
  resourceUrl: string
  demoUrl: string
  username: string
  password: string
}

export type Stack = {
  /** Its folder; the data of `npm start` is in `data` there. */
  directory: string
  /** `npm start -- --files …`, until it says that it runs. */
  start(): Promise<Addresses>
  /** Ctrl-C; fails unless the end is orderly. */
  stop(): Promise<void>
  /** `npm run --silent valetkey -- … --json`: its JSON document. Fails with the command's own words. */
  valetkey<Document = Record<string, string>>(args: readonly string[], input?: string): Promise<Document>
  valetkeyFiles<Document = Record<string, number>>(args: readonly string[]): Promise<Document>
  /** Stops it if need be and removes its data. */
  dispose(): Promise<void>
}

/** `environment` is what this person has set before `npm start`, if anything. */
export function createStack(options: { files: string; environment?: Record<string, string> }): Promise<Stack>
