import { describe } from '@jest/globals'
import { useBrowserWorld } from './browser/browser-world.js'
import { demoClient } from './browser/demo-client.js'
import { guardAnyOrigin } from './browser/guard-any-origin.js'
import { localAccounts } from './browser/local-accounts.js'
import { mcpClients } from './browser/mcp-clients.js'
import { operatorPage } from './browser/operator-page.js'
import { connectedApps } from './browser/pages-account.js'
import { passkeys } from './browser/passkeys.js'
import { singlePageApp } from './browser/single-page-app.js'

// A stack with the settings of `npm start`.
const world = useBrowserWorld()

describe('a guard with anyOrigin, in Chromium', () => guardAnyOrigin(world))
describe('MCP clients, in Chromium', () => mcpClients(world))
describe('the single-page app, in Chromium', () => singlePageApp(world))
describe('passkeys, in Chromium', () => passkeys(world))
describe('connected apps, in Chromium', () => connectedApps(world))
describe('local accounts, in Chromium', () => localAccounts(world))
describe('a user at the demo client, in Chromium', () => demoClient(world))
describe('the operator page, in Chromium', () => operatorPage(world))
