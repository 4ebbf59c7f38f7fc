import type { Readable } from 'node:stream'
import { createUrlRule } from './allowed-url.js'
import type { Check } from './check.js'
import { checks } from './checks/checks.js'
import { createHttp } from './http.js'
import { readMetadata } from './metadata.js'
import { type Options, parseOptions, UsageError } from './options.js'
import { CouldNotTest } from './outcome.js'
import { toJson } from './report/json.js'
import { toJunit } from './report/junit.js'
import { toTap } from './report/tap.js'
import { exitCodeOf, type Report, runChecks } from './run-checks.js'
import { signInByHand, signInByScript } from './sign-in.js'

export type Streams = {
  stdin: Readable
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
}

const FORMATS = { tap: toTap, junit: toJunit, json: toJson }

export const HELP = `Usage: oauth-conformance [options] ISSUER

Checks an OAuth 2.0 authorization server from outside. ISSUER is its issuer, such as https://login.example.com.

  --profile NAME             oauth2.1 (default), bcp (RFC 9700), mcp, fapi2 or valetkey
  --client FILE              JSON: client_id, redirect_uri, client_secret, token_endpoint_auth_method, scope, other_client
  --sign-in SCRIPT|manual    how a user signs in; a script gets the authorization URL and prints the URL of the redirect
  --resource URI             the API: sent as resource, and checked
  --endpoint URL             a URL of the API that needs a token, if it is not the URI of --resource
  --only ID, --skip ID       choose checks; may be repeated
  --expected-failures FILE   ids of checks that are expected to fail, one per line; if such a check passes, the run fails
  --format NAME              tap (default), junit or json
  --rate N                   requests a second (default 10)
  --timeout SECONDS          for each request (default 10)
  --allow-host NAME          also call endpoints on this host; may be repeated
  --yes-this-is-mine         required for hosts other than loopback
  --list                     print the checks of the profile
  --help

Exit codes: 0 no check failed, 1 a check failed, 2 a check could not run, or wrong usage.
`

/** @returns the exit code */
export async function runCommand(args: readonly string[], { stdin, stdout, stderr }: Streams): Promise<0 | 1 | 2> {
  try {
    const request = parseOptions(args, checks)
    switch (request.kind) {
      case 'help':
        stdout.write(HELP)
        return 0
      case 'list':
        stdout.write(listOf(checks.filter(({ profiles }) => profiles.includes(request.profile))))
        return 0
      case 'run': {
        const report = await test(request.options, { stdin, stderr })
        stdout.write(FORMATS[request.options.format](report))
        return exitCodeOf(report)
      }
    }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof CouldNotTest)) throw error
    stderr.write(`oauth-conformance: ${error.message}\n`)
    return 2
  }
}

async function test(options: Options, { stdin, stderr }: Pick<Streams, 'stdin' | 'stderr'>): Promise<Report> {
  const { issuer, profile, clients, resource, signIn, rate, timeLimitMs } = options
  const named = [issuer, ...(resource ? [resource.identifier, resource.endpoint] : [])].map((url) => new URL(url))
  const http = createHttp({ refuse: createUrlRule(named, options.allowedHosts), rate, timeLimitMs })
  const metadata = await readMetadata(issuer, http, [])
  const run = {
    issuer,
    profile,
    http,
    metadata,
    clients,
    resource,
    signIn:
      signIn === undefined ? undefined : signIn === 'manual' ? signInByHand(stdin, stderr) : signInByScript(signIn)
  }
  return runChecks(options.selected, run, options.expectedFailures)
}

function listOf(selected: readonly Check[]): string {
  return selected.map(({ id, level, section, title }) => `${id}\t${level}\t${section}\t${title}\n`).join('')
}
