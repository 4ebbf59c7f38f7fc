import { expect, test } from '@jest/globals'
import { openRequest, useDiscovery } from '../../client-documents/support/discovery.js'
import { choicesOn } from '../support/chosen-ends.js'

const world = useDiscovery({ ACCESS_CHOICES: '1h,1d,30d,until_ended', ACCESS_CHOICE_DEFAULT: '1d' })

test('for a client from a document, the shortest time is selected, and none is longer than DISCOVERED_REFRESH_TOKEN_MAX_TTL', async () => {
  const { page } = await openRequest(world, world.documents.publish('/choices'))
  expect(choicesOn(page)).toEqual([
    { value: '1h', isSelected: true },
    { value: '1d', isSelected: false },
    { value: 'until_ended', isSelected: false }
  ])
  expect(page.body).toContain('Until you end it, <bdi>14 days</bdi> at most')
})
