export function withOwnerId(
  args: readonly string[],
  listUsers: () => readonly { user_id: string; username: string }[]
): readonly string[]
