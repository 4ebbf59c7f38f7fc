import { describe } from '@jest/globals'
import { recovery } from './browser/recovery.js'
import { recoveryPeople } from './browser/recovery-people.js'
import { redisLoss } from './browser/redis-loss.js'
import { recoveryStory } from './support/recovery-story.js'

// A stack whose Redis the tests can reach, to remove its data.
const story = recoveryStory()

describe('a step that is repeated, left or interrupted ends with the right code or starts again', () => recovery(story))
describe('two tabs, users or browsers: no code for the wrong user', () => recoveryPeople(story))
describe('Redis loses its data during a request: the request continues, and the user stays signed in', () =>
  redisLoss(story))
