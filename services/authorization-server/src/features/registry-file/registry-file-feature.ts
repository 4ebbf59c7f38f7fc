import type { Feature } from '../../feature.js'
import { addRegistryCommands } from './registry-commands.js'

/** `apply` and `export`: clients, scopes and resource servers as one file. */
export const registryFile: Feature = {
  addCommands: ({ program }, context) => addRegistryCommands(program, context),
  commandExamples: {
    apply: 'apply -f valetkey.yaml --secrets-dir ./secrets --dry-run',
    export: 'export > valetkey.yaml'
  }
}
