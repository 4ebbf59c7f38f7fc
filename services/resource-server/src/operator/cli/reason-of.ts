/** Why the file system refused: its code, such as EACCES. The message would repeat the path, control characters and all. */
export function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : String(error)
}
