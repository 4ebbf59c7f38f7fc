import { runUntilSignal } from '@valetkey/service-kit'
import { processEnvironment } from './config.js'
import { FEATURES } from './features.js'
import { startAuthorizationServer } from './start.js'

await runUntilSignal(() => startAuthorizationServer(processEnvironment, FEATURES))
