import type { Command } from 'commander'
import type { Feature } from '../../feature.js'

const OF_THE_CORE: Readonly<Record<string, string>> = {
  migrate: 'migrate',
  doctor: 'doctor',
  completion: 'completion bash >> ~/.bash_completion',
  'users create': 'users create alice --password-stdin < password.txt',
  'users list': 'users list --limit 20',
  'users show': 'users show alice --id',
  'users set-password': 'users set-password alice --password-stdin < password.txt',
  'users disable': 'users disable alice',
  'users enable': 'users enable alice',
  'users delete': 'users delete alice',
  'scopes create': 'scopes create reports.read --title "See your reports" --resource reports --default',
  'scopes list': 'scopes list',
  'scopes update': 'scopes update reports.read --title-in de="Ihre Berichte sehen"',
  'scopes delete': 'scopes delete reports.read --dry-run',
  'clients create':
    'clients create --name "Photo Printer" --redirect-uri https://printer.example/callback --scope "files.read reports.read"',
  'clients list': 'clients list --name printer',
  'clients show': 'clients show vFGEDyNdC3tnqTRj0OKUxY',
  'clients update': 'clients update vFGEDyNdC3tnqTRj0OKUxY --optional-scope reports.read',
  'clients disable': 'clients disable vFGEDyNdC3tnqTRj0OKUxY',
  'clients enable': 'clients enable vFGEDyNdC3tnqTRj0OKUxY',
  'clients delete': 'clients delete vFGEDyNdC3tnqTRj0OKUxY --yes',
  'clients secrets': 'clients secrets vFGEDyNdC3tnqTRj0OKUxY',
  'clients rotate-secret': 'clients rotate-secret vFGEDyNdC3tnqTRj0OKUxY --keep-old-for 12h',
  'clients delete-secret': 'clients delete-secret vFGEDyNdC3tnqTRj0OKUxY 9f86d081884c',
  'resource-servers create':
    'resource-servers create --name reports --title Reports --audience https://reports.example.com',
  'resource-servers list': 'resource-servers list',
  'resource-servers update': 'resource-servers update 4Zx2mNq8sTbVwYkLhGfDcA --title Reports',
  'resource-servers rotate-secret': 'resource-servers rotate-secret 4Zx2mNq8sTbVwYkLhGfDcA',
  'resource-servers delete': 'resource-servers delete 4Zx2mNq8sTbVwYkLhGfDcA',
  'grants list': 'grants list --user alice --limit 20',
  'grants revoke': 'grants revoke --user alice --client vFGEDyNdC3tnqTRj0OKUxY',
  'operator-keys create': 'operator-keys create --name deployment',
  'operator-keys list': 'operator-keys list',
  'operator-keys revoke': 'operator-keys revoke 0197f0a1-2b3c-7d4e-8f50-617283940a1b',
  'audit tail': 'audit tail --follow --client vFGEDyNdC3tnqTRj0OKUxY',
  'requests show': 'requests show 0197f0a1-2b3c-7d4e-8f50-617283940a1b --logs-stdin < logs.ndjson'
}

/** An example for each command, by its full name. A feature may replace an example of the core. */
export function examplesWith(features: readonly Pick<Feature, 'commandExamples'>[]): Readonly<Record<string, string>> {
  return Object.assign({}, OF_THE_CORE, ...features.map(({ commandExamples }) => commandExamples))
}

/** Adds its example to the help of every command below this one. */
export function addExamples(program: Command, features: readonly Pick<Feature, 'commandExamples'>[]): void {
  const examples = examplesWith(features)
  for (const { path, command } of leafCommands(program)) {
    const example = examples[path]
    if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${program.name()} ${example}\n`)
  }
}

/** Commands without subcommands, by their full name. */
export function leafCommands(command: Command, names: readonly string[] = []): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path: names.join(' '), command }]
  return command.commands.flatMap((each) => leafCommands(each, [...names, each.name()]))
}
