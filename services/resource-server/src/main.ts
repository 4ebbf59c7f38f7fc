import { runUntilSignal } from '@valetkey/service-kit'
import { processEnvironment } from './config.js'
import { startResourceServer } from './start.js'

await runUntilSignal(() => startResourceServer(processEnvironment))
