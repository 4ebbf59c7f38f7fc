import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { readSecret } from '../../operator/cli/read-secret.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { createGrantedAccessStore } from '../../storage/postgres/granted-access.js'
import { endReportedTokens } from './end-reported-tokens.js'
import { createTokenGrantStore } from './token-grant-store.js'

const MOST_BYTES = 8 * 1024 * 1024

/** `tokens end` */
export function addEndTokensCommand(group: Command, context: CommandDeps): void {
  group
    .command('end')
    .description('end the grants of leaked tokens, whatever client they were issued to; safe to repeat')
    .requiredOption('--stdin', 'read the tokens from standard input, separated by spaces or line breaks')
    .option('--json', 'print {"ended":[{"grant_id","user_id","client_id"}],"unknown"}')
    .action(async ({ json }: { json?: boolean }) => {
      const tokens = (await readSecret(context.stdin, 'tokens', MOST_BYTES)).split(/\s+/).filter(Boolean)
      const grantedAccess = createGrantedAccessStore(context.database())
      const { ended, unknown } = await endReportedTokens(
        tokens,
        createTokenGrantStore(context.database()),
        ({ grantId, userId, clientId }) =>
          recordChange({ event: 'grant_revoked', userId, clientId, details: { grantId } }, authorOf(context), (note) =>
            grantedAccess.end(grantId, note)
          )
      )
      const document = ended.map(({ grantId, userId, clientId }) => ({
        grant_id: grantId,
        user_id: userId,
        client_id: clientId
      }))
      printResult(context, json, { ended: document, unknown }, [
        `Ended ${ended.length} ${ended.length === 1 ? 'grant' : 'grants'}`,
        ...(unknown > 0 ? [`Not live, or of a grant that another one ended: ${unknown}`] : [])
      ])
    })
}
