import { describe } from '@jest/globals'
import { guardsInLanguages } from './stack/guards-introspection.js'
import { quickstartsInLanguages } from './stack/quickstarts-languages.js'
import { useStack } from './stack/use-stack.js'

// A stack with the settings of `npm start`.
const world = useStack()

describe('quickstarts in other languages', () => quickstartsInLanguages(world))
describe('guards in other languages', () => guardsInLanguages(world))
