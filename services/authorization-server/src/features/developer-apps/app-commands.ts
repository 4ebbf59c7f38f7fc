import { printResult } from '@valetkey/service-kit'
import { type Command, InvalidArgumentError } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../operator/cli/confirm.js'
import { linesOfDocument } from '../../operator/cli/document-lines.js'
import { addLimitOption, upTo } from '../../operator/cli/limit.js'
import { registryAdministrationOf } from '../../operator/cli/registry-administration.js'
import { table } from '../../operator/cli/table.js'
import { readAllPages } from '../../operator/use-cases/pages.js'
import { type AppAdministration, approveApp, disableApp, findApp, listApps, refuseApp } from './administer-apps.js'
import { createAppDecisionStore } from './app-decision-store.js'
import { appDocument, appSummaryDocument } from './app-document.js'
import { createDeveloperAppStore } from './developer-app-store.js'

type ListOptions = { waiting?: boolean; limit?: number; json?: boolean }
type ApproveOptions = { revision: number; verified?: boolean; json?: boolean }
type RefuseOptions = { revision?: number; reason: string; json?: boolean }

export function addAppCommands(program: Command, context: CommandDeps): void {
  const apps = program.command('apps').description('apps that users registered (DEVELOPER_APPS)')
  const deps = (): AppAdministration => ({
    ...registryAdministrationOf(context),
    apps: createDeveloperAppStore(context.database()),
    decisions: createAppDecisionStore(context.database())
  })

  addLimitOption(apps.command('list'))
    .description('list apps that users registered')
    .option('--waiting', 'only apps that wait for approval, or whose change does; the longest waiting first')
    .option('--json', 'print {"apps":[…]}')
    .action(async ({ waiting = false, limit, json }: ListOptions) => {
      const all = await readAllPages((page) => listApps(page, waiting, deps()))
      const since = (date: Date | undefined) => date?.toISOString() ?? ''
      const sorted = waiting
        ? all.toSorted((one, other) => since(one.requestedAt).localeCompare(since(other.requestedAt)))
        : all
      const found = upTo(limit, sorted, 'apps', context)
      const rows = found.map((app) => [
        app.clientId,
        app.name,
        app.hasPendingChange ? `${app.state}, with a change` : app.state,
        String(app.revision),
        since(app.requestedAt)
      ])
      const header = ['CLIENT ID', 'NAME', 'STATE', 'REVISION', 'WAITS SINCE']
      const lines = rows.length === 0 ? ['There are no matching apps.'] : table(header, rows)
      printResult(context, json, { apps: found.map(appSummaryDocument) }, lines)
    })

  apps
    .command('show')
    .description('show one app, and its change that waits for approval')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const document = appDocument(await findApp(clientId, deps()))
      printResult(context, json, document, linesOfDocument(document))
    })

  addDecisionCommands(apps, context, deps)
}

function addDecisionCommands(apps: Command, context: CommandDeps, deps: () => AppAdministration): void {
  apps
    .command('approve')
    .description('publish an app, or make its change take effect')
    .argument('<client_id>')
    .requiredOption(
      '--revision <number>',
      'the revision that show printed; refused if the app was changed since',
      readRevision
    )
    .option('--verified', 'also mark it as verified')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { revision, verified = false, json }: ApproveOptions) => {
      const app = await approveApp({ clientId, revision, verified }, authorOf(context), deps())
      printResult(context, json, appDocument(app), [`Approved ${app.settings.name}; it works for all users`])
    })

  apps
    .command('refuse')
    .description('refuse an app or its change')
    .argument('<client_id>')
    .requiredOption('--reason <text>', 'what its developer must change')
    .option('--revision <number>', 'refused if the app was changed since', readRevision)
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json, ...options }: RefuseOptions) => {
      const app = await refuseApp({ clientId, ...options }, authorOf(context), deps())
      printResult(context, json, appDocument(app), [`Refused ${app.settings.name}; its developer sees the reason`])
    })

  apps
    .command('disable')
    .description('disable an app and revoke all its tokens permanently; `clients enable` enables it again')
    .argument('<client_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const { settings } = await findApp(clientId, deps())
      await requireConfirmation(`Disable app ${settings.name} (${clientId}) and revoke all its tokens?`, yes, context)
      const app = await disableApp(clientId, authorOf(context), deps())
      printResult(context, json, appDocument(app), [`Disabled app ${settings.name}; its tokens are revoked`])
    })
}

function readRevision(given: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(given)) return Number(given)
  throw new InvalidArgumentError('It must be a number that show prints.')
}
