import { describe } from '@jest/globals'
import { quickstartsWithKeysInLanguages } from './stack/quickstarts-with-keys.js'
import { useStack } from './stack/use-stack.js'

// A stack that binds tokens to keys if an app asks for it.
const world = useStack({ DPOP: 'allowed' })

describe('quickstarts with keys in other languages', () => quickstartsWithKeysInLanguages(world))
