import { expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createCodeStore } from '../../../src/storage/redis/codes.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { ALLOWED, RIGHT, recordOf } from '../../support/code-records.js'
import { freePort } from '../../support/failing-network.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { newDigest } from '../../support/stored-grant.js'

const { records } = newRecordAuthentication()

test('every method throws StoreUnavailable without Redis', async () => {
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const codes = createCodeStore(nowhere, records)
  const digest = newDigest()
  await expect(codes.put(digest, recordOf(), 20_000)).rejects.toThrow(StoreUnavailable)
  await expect(codes.findEncryptedRedirect(digest)).rejects.toThrow(StoreUnavailable)
  await expect(codes.take(digest, 'first', RIGHT)).rejects.toThrow(StoreUnavailable)
  const content = { allowed: ALLOWED, undelivered: [] }
  await expect(codes.giveBack(digest, 'first', content)).rejects.toThrow(StoreUnavailable)
  nowhere.disconnect()
})
