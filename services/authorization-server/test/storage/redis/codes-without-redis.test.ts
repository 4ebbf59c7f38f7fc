import { expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createCodeStore } from '../../../src/storage/redis/codes.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { ALLOWED, RIGHT, recordOf } from '../../support/code-records.js'
import { freePort } from '../../support/failing-network.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'
import { newHash } from '../../support/stored-grant.js'

const { records } = newRecordAuthentication()

test('every method throws StoreUnavailable without Redis', async () => {
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const codes = createCodeStore(nowhere, records)
  const hash = newHash()
  await expect(codes.put(hash, recordOf(), 20_000)).rejects.toThrow(StoreUnavailable)
  await expect(codes.findEncryptedRedirect(hash)).rejects.toThrow(StoreUnavailable)
  await expect(codes.take(hash, 'first', RIGHT)).rejects.toThrow(StoreUnavailable)
  const content = { allowed: ALLOWED, undelivered: [] }
  await expect(codes.giveBack(hash, 'first', content)).rejects.toThrow(StoreUnavailable)
  nowhere.disconnect()
})
