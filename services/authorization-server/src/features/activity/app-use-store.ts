import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'

/** How often an app used one action with one grant, since the previous report of this process of the API. */
export type ReportedUse = {
  grantId: string
  action: string
  /** How many items, such as files; 0 if the last use returned none. */
  count: number
  lastAt: Date
}

export type UseReport = {
  /** Chosen by the reporter. A report that is sent again has the same one. */
  reportId: string
  uses: readonly ReportedUse[]
}

/** Why a use was not counted. `unknown_grant`: expired and deleted, or of another API, which the API must not learn. */
type IgnoredReason = 'unknown_action' | 'unknown_grant' | 'wrong_time'

/** @property row place in the report, from 0 */
export type IgnoredUse = { row: number; reason: IgnoredReason }

/** Who sent a report. @property audience of its credential: the report counts for grants of this API only */
export type Reporter = { clientId: string; audience: string }

/** What one app did with one action, in the last 90 days. */
export type UsedActionOfApp = {
  clientId: string
  /** As the operator declared it. */
  title: string
  translations: Readonly<Record<string, string>>
  total: number
  lastAt: Date
  /** The newest days, in UTC, on which there were items; newest first. */
  days: readonly { day: Date; count: number }[]
}

const USES_KEPT_DAYS = 90
const SHOWN_DAYS = 3
/** Of the reports that were received. Longer than a use may be late, so that a repeated report is known or refused as too late. */
const REPORTS_KEPT = '2 hours'
const LATEST = '1 hour'
/** How far ahead the clock of an API may be. */
const AHEAD = '1 minute'
const DELETED_AT_ONCE = 1_000

/** A day in UTC: the time zones of users are not known. */
const TODAY = "(now() at time zone 'UTC')::date"

/**
 * The row of the report is inserted first: a repeated report waits for the first one, finds its row, and adds nothing. Rows are added
 * in the order of their key, so that two reports cannot wait for each other. The audience of a grant is compared after the join: with
 * it in the join, Postgres may read all grants of the API. Of several uses with one key the sum counts. A sum stays
 * below the largest whole number of JSON.
 */
const addReport = defineStatement(
  'add_app_uses',
  `with first as (
    insert into use_reports (client_id, report_id, received_at) values (:reporter::text, :reportId::text, now())
    on conflict (client_id, report_id) do nothing returning report_id),
  judged as (
    select u.number, u.action, u.items, least(u.last_at, now()) as last_at, g.user_id, g.client_id, a.api_id,
      case when a.api_id is null then 'unknown_action'
        when g.audience is distinct from :audience::text then 'unknown_grant'
        when u.last_at < now() - interval '${LATEST}' or u.last_at > now() + interval '${AHEAD}' then 'wrong_time'
      end as reason
    from unnest(:grantIds::uuid[], :actions::text[], :counts::bigint[], :times::timestamptz[])
      with ordinality as u (grant_id, action, items, last_at, number)
    left join lateral (
      select p.api_id from api_actions p
      where (p.audience = :audience::text or (p.audience is null and :audience::text = :defaultAudience::text))
        and jsonb_exists(p.actions, u.action)
      order by p.audience nulls last limit 1) a on true
    left join grants g on g.grant_id = u.grant_id),
  added as (
    insert into app_uses as kept (user_id, client_id, api_id, action, day, items, last_at)
    select j.user_id, j.client_id, j.api_id, j.action, (j.last_at at time zone 'UTC')::date, sum(j.items), max(j.last_at)
    from judged j where j.reason is null and exists (select from first)
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (user_id, client_id, api_id, action, day) do update
      set items = least(kept.items + excluded.items, ${Number.MAX_SAFE_INTEGER}),
        last_at = greatest(kept.last_at, excluded.last_at))
  select exists (select from first) as is_first,
    coalesce(json_agg(json_build_object('row', j.number - 1, 'reason', j.reason) order by j.number)
      filter (where j.reason is not null), '[]') as ignored
  from judged j`
)

export function createAppUseStore(database: Database) {
  return {
    /**
     * Adds the uses of a report to the sums of their day, unless this credential sent a report with this id before.
     * @param defaultAudience identifier of the default API
     */
    async add(
      { reportId, uses }: UseReport,
      { clientId, audience }: Reporter,
      defaultAudience: string
    ): Promise<{ isFirst: boolean; ignored: readonly IgnoredUse[] }> {
      const statement = addReport({
        reporter: clientId,
        reportId,
        audience,
        defaultAudience,
        grantIds: uses.map(({ grantId }) => grantId),
        actions: uses.map(({ action }) => action),
        counts: uses.map(({ count }) => count),
        times: uses.map(({ lastAt }) => lastAt)
      })
      const [row] = await database.query<{ is_first: boolean; ignored: IgnoredUse[] }>(statement)
      return { isFirst: row?.is_first === true, ignored: row?.ignored ?? [] }
    },

    /** The newest use first. A client that was registered later with the same id does not have the uses of the earlier one. */
    async list(userId: string): Promise<readonly UsedActionOfApp[]> {
      const rows = await database.query<UsedActionRow>({
        name: 'list_app_uses',
        text: `select u.client_id, a.actions -> u.action as texts, sum(u.items)::float8 as total, max(u.last_at) as last_at,
            (array_agg(to_char(u.day, 'YYYY-MM-DD') order by u.day desc) filter (where u.items > 0))[1:${SHOWN_DAYS}] as days,
            (array_agg(u.items::float8 order by u.day desc) filter (where u.items > 0))[1:${SHOWN_DAYS}] as counts
          from app_uses u
          join api_actions a on a.api_id = u.api_id and jsonb_exists(a.actions, u.action)
          join clients c on c.client_id = u.client_id and u.day >= (c.created_at at time zone 'UTC')::date
          where u.user_id = $1 and u.day > ${TODAY} - ${USES_KEPT_DAYS}
          group by u.client_id, u.api_id, u.action, a.actions
          order by max(u.last_at) desc, u.client_id, u.action`,
        values: [userId]
      })
      return rows.map(toUsedAction)
    }
  }
}

export type AppUseStore = ReturnType<typeof createAppUseStore>

type UsedActionRow = {
  client_id: string
  texts: { title: string; translations?: Record<string, string> }
  total: number
  last_at: Date
  days: string[] | null
  counts: number[] | null
}

function toUsedAction(row: UsedActionRow): UsedActionOfApp {
  return {
    clientId: row.client_id,
    title: row.texts.title,
    translations: row.texts.translations ?? {},
    total: row.total,
    lastAt: row.last_at,
    days: (row.days ?? []).map((day, place) => ({ day: new Date(day), count: row.counts?.[place] ?? 0 }))
  }
}

/** Deletes uses that are older than 90 days. @returns whether the batch was full */
export async function deleteExpiredUses(database: Database): Promise<boolean> {
  return deleteBatch(database, 'delete_expired_app_uses', 'app_uses', `day <= ${TODAY} - ${USES_KEPT_DAYS}`)
}

/** Deletes the ids of reports that would be refused as too late by now. @returns whether the batch was full */
export async function deleteOldReports(database: Database): Promise<boolean> {
  const condition = `received_at < now() - interval '${REPORTS_KEPT}'`
  return deleteBatch(database, 'delete_old_use_reports', 'use_reports', condition)
}

async function deleteBatch(database: Database, name: string, table: string, condition: string): Promise<boolean> {
  const rows = await database.query({
    name,
    text: `delete from ${table} where ctid = any (array(
        select ctid from ${table} where ${condition} limit ${DELETED_AT_ONCE} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length === DELETED_AT_ONCE
}
