export function withOwnerId(
  args: readonly string[],
  findUserId: (username: string) => string | undefined
): readonly string[]
