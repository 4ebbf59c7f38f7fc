/** A row of the table of settings. */
export type Setting = KindOfSetting & {
  /** Its name in JSON, and its column if pages show it. */
  member: string
  /** A new client must have it. */
  isRequired?: true
  /** The description in the OpenAPI document. */
  description: string
  /** The flags of each option of the commands with its help. */
  options: Readonly<Record<string, OptionHelp>>
  /** The name that commander gives to the value, if it is another. */
  option?: string
}

/** A text is for `create` and `update`. Without `create`, only `update` has the option. */
export type OptionHelp = string | { create?: string; update: string }

type KindOfSetting =
  | { kind: 'name' }
  | { kind: 'texts' }
  /** Texts on the command line, one text with spaces in JSON. */
  | { kind: 'scopes' }
  /** `initial`: of a new client, if the command or the document does not say it. */
  | { kind: 'flag'; initial: boolean }
  | { kind: 'choice'; choices: readonly string[]; initial: string }
  /** Pages show it. `words` are for error texts; the others are keys of messages for the developer's form. */
  | { kind: 'text'; most: number; words: string; label: string; advice: string; malformed: string }
  /** The same for the address of a web page. */
  | { kind: 'url'; words: string; label: string }
  /** The hash of a stored image. The command line has a file, the administration API its own route, the registry file nothing. */
  | { kind: 'logo' }
  /** If it is not set: the server's value. */
  | { kind: 'seconds'; most: number }
  /** How it authenticates. Without a value, its type decides. */
  | { kind: 'method'; choices: readonly string[] }
  /** A JWK Set in JSON, a file on the command line. */
  | { kind: 'keys' }
  | { kind: 'key_uri' }
