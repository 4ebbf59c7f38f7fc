import { describe } from '@jest/globals'
import { activity } from './stack/activity.js'
import { clients } from './stack/clients.js'
import { notesApi } from './stack/notes-api.js'
import { quickstarts } from './stack/quickstarts.js'
import { reportsApi } from './stack/reports-api.js'
import { stop } from './stack/stop.js'
import { useStack } from './stack/use-stack.js'

// A stack with the settings of `npm start`.
const world = useStack()

describe('clients', () => clients(world))
describe('quickstarts in JavaScript', () => quickstarts(world))
describe('the reports API', () => reportsApi(world))
describe('the notes API', () => notesApi(world))
describe('what each app did', () => activity(world))
describe('the end of npm start', () => stop(world))
