/** The values that `npm start` prints when everything runs. */
export type Addresses = {
  issuer: string
  internalUrl: string
  operatorUrl: string
  resourceUrl: string
  demoUrl: string
  username: string
  password: string
  /** Undefined unless the stack has the demo provider. */
  demoProviderUrl?: string
}

export type Stack = {
  /** The folder of the stack, with the data of `npm start` in `data`. */
  directory: string
  /** Runs `npm start -- --files …` until it is ready. */
  start(): Promise<Addresses>
  /** Sends Ctrl-C; rejects unless the stop is orderly. */
  stop(): Promise<void>
  /** Runs `./valetkey … --json` and returns its JSON. Rejects with the message of the command. */
  valetkey<Document = Record<string, string>>(args: readonly string[], input?: string): Promise<Document>
  valetkeyFiles<Document = Record<string, number>>(args: readonly string[]): Promise<Document>
  /** Stops the stack if it runs, and removes its data. */
  dispose(): Promise<void>
}

type StackOptions = {
  files: string
  /** Additional variables for `npm start`. */
  environment?: Record<string, string>
  /** Off by default: most tests are about the sign-in form alone. */
  demoProvider?: boolean
}

export function createStack(options: StackOptions): Promise<Stack>
