/** What a person reads on the terminal once everything runs. */
export type Addresses = {
  issuer: string
  internalUrl: string
  resourceUrl: string
  demoUrl: string
  username: string
  password: string
  /** Undefined unless the stack has the demo provider. */
  demoProviderUrl?: string
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

type StackOptions = {
  files: string
  /** What this person has set before `npm start`, if anything. */
  environment?: Record<string, string>
  /** Off by default: most tests are about the sign-in form alone. */
  demoProvider?: boolean
}

export function createStack(options: StackOptions): Promise<Stack>
