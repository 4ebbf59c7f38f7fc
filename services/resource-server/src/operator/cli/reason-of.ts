/** The error code of the file system, such as EACCES. Its message would repeat the path, with control characters. */
export function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : String(error)
}
