import { runUntilSignal } from '@valetkey/service-kit'
import { processEnvironment } from './config.js'
import { startAuthorizationServer } from './start.js'

await runUntilSignal(() => startAuthorizationServer(processEnvironment))
