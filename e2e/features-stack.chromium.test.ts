import { afterAll, describe } from '@jest/globals'
import { useBrowserWorld } from './browser/browser-world.js'
import { developerApps } from './browser/developer-apps.js'
import { loginPage, loginPageSettings } from './browser/login-page.js'
import { mcpConformance } from './browser/mcp-conformance.js'
import { mcpProducts, mcpProductsSettings } from './browser/mcp-products.js'
import { openDocumentSite } from './support/mcp/document-site.js'

// A stack with optional features, each of which only its own subject uses.
const documents = await openDocumentSite()
const world = useBrowserWorld({ DEVELOPER_APPS: 'approved', ...loginPageSettings, ...mcpProductsSettings(documents) })
afterAll(() => documents.close())

describe('apps of developers, in Chromium', () => developerApps(world))
describe('the example login page, in Chromium', () => loginPage(world))
describe('MCP clients that behave like products, in Chromium', () => mcpProducts(world, documents))
describe('MCP and its conformance tool, in Chromium', () => mcpConformance(world))
