import type { Database } from '@valetkey/service-kit'
import { usableBy } from './usable-by.js'

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

    /** @returns whether a published client has the logo: then it is public */
    async find(hash: string): Promise<{ image: Buffer; isPublic: boolean } | undefined> {
      const rows = await database.query<{ image: Buffer; is_public: boolean }>({
        name: 'find_client_logo',
        text: `select image, exists (select from clients c where c.logo = l.hash and c.published) as is_public
          from client_logos l where hash = $1`,
        values: [hash]
      })
      return rows.map(({ image, is_public: isPublic }) => ({ image, isPublic }))[0]
    },

    /** The logo of an app, or of its pending change, that the user owns or tests. */
    async findOwn(hash: string, userId: string): Promise<Buffer | undefined> {
      const rows = await database.query<{ image: Buffer }>({
        name: 'find_own_app_logo',
        text: `select l.image from client_logos l where l.hash = $1 and exists (
          select from developer_apps a join clients c using (client_id) cross join users u
          where u.user_id = $2 and (c.logo = l.hash or a.pending_logo = l.hash) and ${usableBy('u.user_id')})`,
        values: [hash, userId]
      })
      return rows[0]?.image
    }
  }
}

export type ClientLogoStore = ReturnType<typeof createClientLogoStore>
