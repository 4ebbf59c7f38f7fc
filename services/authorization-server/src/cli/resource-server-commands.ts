import { randomBytes } from 'node:crypto'
import { digestToken, isClientIdentifier, mintClientIdentifier, mintOpaqueToken } from '@valetkey/oauth-protocol'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createResourceServerStore } from '../storage/resource-servers.js'
import type { CommandContext } from './context.js'
import { CommandFailure } from './exit.js'
import { readSecret } from './read-secret.js'

type CreateOptions = { name: string; audience: string; clientId?: string; secretStdin?: boolean; json?: boolean }

export function addResourceServerCommands(program: Command, context: CommandContext): void {
  program
    .command('resource-servers')
    .description('the APIs that may ask whether a token is good')
    .command('create')
    .description('make a credential for the introspection endpoint; its secret is printed once')
    .requiredOption('--name <text>', 'a name for operators')
    .requiredOption(
      '--audience <url>',
      'the resource identifier whose tokens it may ask about, such as its RESOURCE_URL'
    )
    .option('--client-id <id>', 'an id made elsewhere; with the same secret and audience the command can be repeated')
    .option('--secret-stdin', 'read the secret that belongs to --client-id from standard input')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async (options: CreateOptions) => {
      const { name, audience } = options
      requireAudience(audience)
      const given = await readGivenCredential(options, context)
      const { clientId, clientSecret } = given ?? {
        clientId: mintClientIdentifier(randomBytes),
        clientSecret: mintOpaqueToken('clientSecret', randomBytes)
      }
      const store = createResourceServerStore(context.database())
      const outcome = await store.create({ clientId, name, audience }, digestToken(clientSecret), new Date())
      if (outcome === 'conflict') {
        throw new CommandFailure('conflict', `there is a resource server ${clientId} with another secret or audience`)
      }
      const document = { client_id: clientId, client_secret: clientSecret, name, audience }
      const secretLines = given ? [] : [`client secret: ${clientSecret}`, 'It is shown this once only.']
      const headline = outcome === 'created' ? `created a credential for ${name}` : 'nothing to do: it exists already'
      printResult(context, options.json, document, [headline, `client id:     ${clientId}`, ...secretLines])
    })
}

function requireAudience(audience: string): void {
  const isIdentifier = URL.canParse(audience) && /^https?:\/\/[\x21-\x7e]+$/.test(audience) && !audience.includes('#')
  if (!isIdentifier)
    throw new CommandFailure('usage', 'the audience must be an absolute http or https URL without a fragment')
}

async function readGivenCredential(
  options: CreateOptions,
  context: CommandContext
): Promise<{ clientId: string; clientSecret: string } | undefined> {
  const { clientId, secretStdin } = options
  if (clientId === undefined && !secretStdin) return undefined
  if (clientId === undefined || !secretStdin) {
    throw new CommandFailure('usage', '--client-id and --secret-stdin go together')
  }
  const clientSecret = await readSecret(context.stdin, 'secret')
  if (!isClientIdentifier(clientId)) throw new CommandFailure('usage', 'a client id has 1 to 128 of A-Z a-z 0-9 _ -')
  if (!/^[A-Za-z0-9_-]{32,128}$/.test(clientSecret)) {
    throw new CommandFailure('usage', 'a secret has 32 to 128 of A-Z a-z 0-9 _ -')
  }
  return { clientId, clientSecret }
}
