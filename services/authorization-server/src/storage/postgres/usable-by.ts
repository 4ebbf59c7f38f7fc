/** Whether the user owns or tests the app of client `c`. @param userId SQL, such as `u.user_id` */
export const usableBy = (userId: string): string => `(
  exists (select from app_owners o where o.client_id = c.client_id and o.user_id = ${userId})
  or exists (select from app_testers t where t.client_id = c.client_id and t.user_id = ${userId}))`
