/** Whether user `u` owns or tests the app of client `c`. */
export const MAY_TEST = `(
  exists (select from app_owners o where o.client_id = c.client_id and o.user_id = u.user_id)
  or exists (select from app_testers t where t.client_id = c.client_id and t.user_id = u.user_id))`

/** Whether invitation `i` can still be accepted. */
export const IS_OPEN_INVITATION = `i.invited_at > now() - interval '7 days'`
