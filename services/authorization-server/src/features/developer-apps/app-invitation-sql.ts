/** Whether invitation `i` can still be accepted. */
export const IS_OPEN_INVITATION = `i.invited_at > now() - interval '7 days'`
