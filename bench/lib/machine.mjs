// Describes machine and versions of a run in one line.
import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { administer } from './stores.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** @param node the version that ran the servers */
export async function describeRun({ clusterUrl, redisUrl }, node = process.versions.node) {
  const [{ server_version: postgres }] = await administer(clusterUrl, 'show server_version')
  const redis = new Redis(redisUrl)
  const redisVersion = /(?:valkey|redis)_version:(\S+)/.exec(await redis.info('server'))?.[1]
  redis.disconnect()
  const [{ model }] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return (
    `${new Date().toISOString().slice(0, 10)}, commit ${commit()}; ${cpus().length} × ${model.trim()}, ${gigabytes} GiB; ` +
    `Node ${node}, Postgres ${postgres.split(' ')[0]}, Redis ${redisVersion}`
  )
}

function commit() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', 'services', 'packages', 'bench')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ' with changes')
  } catch {
    return 'unknown'
  }
}
