import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline/promises'
import type { Readable } from 'node:stream'
import { CouldNotTest } from './outcome.js'

const ENDED = 'the input ended before the URL of the redirect'
const SCRIPT_TIME_LIMIT_MS = 60_000
/** The time to read what a script printed before it ended. */
const LAST_OUTPUT_MS = 1_000
/** A script ends with this code if the server shows an error page. */
const SHOWS_AN_ERROR = 3

/**
 * Opens an authorization request as a user who signs in and allows access.
 * @returns the URL that the server redirected to, at the client's redirect URI; undefined if the server shows an error page
 */
export type SignIn = (authorizationUrl: string) => Promise<URL | undefined>

/** Runs a program with the authorization URL as its argument; it prints the URL of the redirect as its last line. */
export function signInByScript(script: string): SignIn {
  return async (authorizationUrl) => {
    const { code, output } = await run(script, authorizationUrl)
    if (code === SHOWS_AN_ERROR) return undefined
    if (code !== 0) throw new CouldNotTest(`the sign-in script ended with ${code ?? 'a signal, or after 60 s'}`)
    return parseRedirect(output.trimEnd().split('\n').at(-1) ?? '', 'the last line of the sign-in script')
  }
}

/** JavaScript files run with this Node; any other file runs as a program. Its messages go to stderr. */
function run(script: string, authorizationUrl: string): Promise<{ code: number | null; output: string }> {
  const command = /\.[cm]?js$/.test(script) ? [process.execPath, script] : [script]
  const [program = '', ...args] = [...command, authorizationUrl]
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: SCRIPT_TIME_LIMIT_MS,
      killSignal: 'SIGKILL'
    })
    let output = ''
    // The last line is enough; a script that never stops printing must not fill the memory.
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-100_000)
    })
    // A program that the script left running, such as a browser, may keep the output open.
    child.once('exit', () => setTimeout(() => child.stdout.destroy(), LAST_OUTPUT_MS).unref())
    child.once('error', (error) => reject(new CouldNotTest(`cannot run the sign-in script: ${error.message}`)))
    child.once('close', (code) => resolve({ code, output }))
  })
}

/** Prints each URL and reads what the browser's address bar shows afterwards. */
export function signInByHand(input: Readable, output: NodeJS.WritableStream): SignIn {
  return async (authorizationUrl) => {
    // A stream that has ended emits no second `end`.
    if (input.readableEnded) throw new CouldNotTest(ENDED)
    const lines = createInterface({ input, output })
    try {
      output.write(`\nOpen this URL, sign in and allow access:\n\n  ${authorizationUrl}\n\n`)
      const ended = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)))
      const question = 'Then paste the URL that the browser was redirected to (only Enter: the page shows an error): '
      const answer = await Promise.race([lines.question(question), ended])
      if (answer === undefined) throw new CouldNotTest(ENDED)
      return answer.trim() === '' ? undefined : parseRedirect(answer.trim(), 'the pasted text')
    } finally {
      lines.close()
    }
  }
}

function parseRedirect(text: string, place: string): URL {
  if (!URL.canParse(text)) throw new CouldNotTest(`${place} is not a URL`)
  return new URL(text)
}
