import type { Client } from 'pg'
import { openNotificationChannel } from '../postgres/notification-channel.js'
import { findPooling } from '../postgres/postgres-pooler.js'
import {
  type FoundSettings,
  type Plans,
  READ_SETTINGS,
  remedyOfSetting,
  roleSettings,
  unusableSetting
} from '../postgres/postgres-settings.js'
import { type Finding, fatal, ok, warning } from './finding.js'

/**
 * Checks the URL of Postgres itself: no pooler in front, LISTEN works, and it is the same database.
 * @param client a connection of the other URL, which may lead to a pooler
 * @param setting the name of the setting
 */
export async function examineDirectUrl(client: Client, setting: string, url: string): Promise<Finding> {
  try {
    const pooling = await findPooling(url)
    if (pooling === 'direct') return await examineNotifications(client, setting, url)
    return fatal(setting, {
      what: `goes through a pooler (${pooling === 'session' ? 'session mode' : 'which shares connections'})`,
      why: 'LISTEN, migrations and locks need a connection of Postgres of their own.',
      fix: 'set it to Postgres itself'
    })
  } catch (error) {
    return fatal(setting, {
      what: `cannot be reached: ${reasonOf(error)}`,
      why: 'LISTEN, migrations and the command line use it.',
      fix: 'check the host, network, role, password and certificate in the URL'
    })
  }
}

/**
 * Listens over one URL, sends a notification over the connection of the other one, and waits up to 3 s for it.
 * @param check the name of the finding
 */
export async function examineNotifications(client: Client, check: string, url: string): Promise<Finding> {
  const ignore = () => {}
  try {
    const send = (channel: string) => client.query('select pg_notify($1, $2)', [channel, ''])
    const channel = await openNotificationChannel(url, ['valetkey_doctor'], ignore, ignore, { send })
    await channel.close()
    return ok(check, 'LISTEN works, and notifications arrive')
  } catch (error) {
    return fatal(check, {
      what: `notifications are not received: ${reasonOf(error)}`,
      why: 'Without them caches stay off, and resource servers do not learn of revocations.',
      fix: 'name the primary of the same database'
    })
  }
}

type Setting = { name: string; setting: string }

/** Whether the role has the settings that connections of a pooler cannot get. */
export async function examineRoleSettings(client: Client, role: string, plans: Plans): Promise<Finding> {
  const wanted = roleSettings(plans)
  const { rows } = await client.query<Setting>('select name, setting from pg_settings where name = any($1)', [
    Object.keys(wanted)
  ])
  const found = new Map(rows.map(({ name, setting }) => [name, setting]))
  const missing = Object.entries(wanted).filter(([name, value]) => !isSet(name, value, found.get(name)))
  if (missing.length === 0) return ok('postgres role settings', 'are as the pooler needs them')
  return warning('postgres role settings', {
    what: `${role} lacks ${missing.map(([name, value]) => `${name} = ${value}`).join(', ')}`,
    why: 'Connections of a pooler get no settings: statements may run longer than requests, and use plans for empty tables.',
    fix: missing
      .map(([name, value]) => `alter role ${client.escapeIdentifier(role)} set ${name} = '${value}'`)
      .join('; ')
  })
}

/** A time limit may be shorter than wanted. */
function isSet(name: string, wanted: string, found: string | undefined): boolean {
  if (name !== 'statement_timeout') return found === wanted
  return Number(found) > 0 && Number(found) <= Number.parseInt(wanted, 10) * 1_000
}

/** Whether requests work with the settings that a connection has. Those that the service sets itself have been set before. */
export async function examineSettings(client: Client): Promise<Finding> {
  const { rows } = await client.query<FoundSettings>(READ_SETTINGS)
  const unusable = rows[0] && unusableSetting(rows[0])
  if (unusable === undefined) return ok('postgres settings', 'of role and database do not disturb statements')
  const { rows: roles } = await client.query<{ role: string }>('select current_user as role')
  return fatal('postgres settings', {
    what: unusable.name === 'schema' ? 'the role may use no schema' : `${unusable.name} is ${unusable.value}`,
    why: 'The service refuses this database, because statements would fail or have other results.',
    fix: remedyOfSetting(unusable.name, client.escapeIdentifier(roles[0]?.role ?? ''))
  })
}

function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}
