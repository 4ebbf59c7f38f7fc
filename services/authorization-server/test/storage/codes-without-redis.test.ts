import { expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createCodeStore } from '../../src/storage/codes.js'
import { connectRedis } from '../../src/storage/redis.js'
import { freePort } from '../support/failing-network.js'
import { newDigest } from '../support/stored-grant.js'

const BINDING = {
  clientId: 'printer',
  redirectUri: 'https://app.example/',
  codeChallenge: undefined,
  audience: 'files'
}
const RIGHT = { ...BINDING, resource: undefined }

test('without Redis nothing is put, taken or put back, and it is an outage', async () => {
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const codes = createCodeStore(nowhere, () => new Date())
  const digest = newDigest()
  await expect(
    codes.put(digest, { grantId: 'grant', binding: BINDING, sealedAnswer: undefined }, 20_000)
  ).rejects.toThrow(StoreUnavailable)
  await expect(codes.findSealedAnswer(digest)).rejects.toThrow(StoreUnavailable)
  await expect(codes.take(digest, RIGHT)).rejects.toThrow(StoreUnavailable)
  await expect(codes.putBack(digest, 'attempt')).rejects.toThrow(StoreUnavailable)
  nowhere.disconnect()
})
