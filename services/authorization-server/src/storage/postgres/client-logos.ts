import type { Database } from '@valetkey/service-kit'

/** A logo as it is served: PNG. @property hash SHA-256 of the image, hexadecimal */
export type ClientLogo = { hash: string; image: Buffer }

/** Logos are stored before the client that names them. Housekeeping deletes those without a client after a day. */
export function createClientLogoStore(database: Database) {
  return {
    /** The new time keeps a logo that had no client. The lock waits for a deletion that has begun. */
    async save({ hash, image }: ClientLogo): Promise<void> {
      await database.query({
        name: 'save_client_logo',
        text: `insert into client_logos (hash, image, created_at) values ($1, $2, now())
          on conflict (hash) do update set created_at = excluded.created_at`,
        values: [hash, image]
      })
    },

    async find(hash: string): Promise<Buffer | undefined> {
      const rows = await database.query<{ image: Buffer }>({
        name: 'find_client_logo',
        text: 'select image from client_logos where hash = $1',
        values: [hash]
      })
      return rows[0]?.image
    }
  }
}

export type ClientLogoStore = ReturnType<typeof createClientLogoStore>
