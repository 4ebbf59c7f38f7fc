// Finds the processes of Postgres and Redis, to measure their time separately. The servers report their process ids, so any
// servers on this machine can be measured.
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { administer } from './stores.mjs'

/** @returns the process ids, undefined for a server on another machine; that of Postgres is the parent of its processes */
export async function storeProcesses({ clusterUrl, redisUrl }) {
  const [{ pid }] = await administer(clusterUrl, `select pid from pg_stat_activity where backend_type = 'checkpointer'`)
  const redis = new Redis(redisUrl)
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1])
  redis.disconnect()
  return {
    postgres: nameOf(pid).includes('postgres') ? parentOf(pid) : undefined,
    redis: /redis|valkey/.test(nameOf(redisPid)) ? redisPid : undefined
  }
}

function nameOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8')
  } catch {
    return ''
  }
}

const parentOf = (pid) => Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
