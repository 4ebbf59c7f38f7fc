import type { Database } from '@valetkey/service-kit'

/**
 * The addresses of recent sign-ins, successful and failed, from the audit table. It reads at most the newest 10,000 events of
 * the last day, so the cost does not depend on the size of the table.
 */
export async function readSignInAddresses(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ address: string }>({
    name: 'read_sign_in_addresses',
    text: `select address from (
        select event, address from audit_events
        where occurred_at > now() - interval '1 day'
        order by occurred_at desc limit 10000
      ) as newest
      where event in ('sign_in_succeeded', 'sign_in_failed') and address <> ''
      limit 200`,
    values: []
  })
  return rows.map(({ address }) => address)
}
