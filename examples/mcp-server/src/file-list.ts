import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'

type ListedFile = { name: string; size: number; modified_at: string }

/** More names would not fit into the context of a model. */
const MAX_FILES = 200

/** The files of a folder by name, without hidden ones and subfolders. */
export async function listFolder(folder: string): Promise<ListedFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name)
  const files = await Promise.all(
    names
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => readEntry(folder, name))
  )
  return files.filter((file) => file !== undefined)
}

async function readEntry(folder: string, name: string): Promise<ListedFile | undefined> {
  try {
    const { size, mtime } = await stat(path.join(folder, name))
    return { name, size, modified_at: mtime.toISOString() }
  } catch {
    // Removed since the folder was read.
    return undefined
  }
}
