import { type Database, defineStatement } from '@valetkey/service-kit'

/** Maximum number of files in a selection. */
export const MOST_CHOSEN = 1_000
/** Maximum number of selections of a user, drafts included. */
const MOST_SELECTIONS = 1_000

export type SelectionStore = ReturnType<typeof createSelectionStore>

/** A draft of a user. */
export type Draft = { draftId: string; ownerId: string }

/** The files of a draft that still exist: locked, so that none is deleted before the statement has ended. */
const DRAFT_FILES = `select files.file_id from selections
  join selection_files using (selection_id) join files using (file_id)
  where selection_id = :draftId and selections.owner_id = :ownerId and files.owner_id = :ownerId and is_draft
  order by files.file_id limit ${MOST_CHOSEN} for key share of files`

/** Old drafts go first, then the oldest selections. */
const makeRoom = defineStatement(
  'make_room_for_selection',
  `delete from selections where selection_id = any (array(
    select selection_id from selections where owner_id = :ownerId
    order by (is_draft and created_at < now() - interval '1 hour'), created_at desc, selection_id offset :most))
  or (owner_id = :ownerId and is_draft and created_at < now() - interval '1 day')`
)

const openDraft = defineStatement(
  'open_draft',
  `with draft as (
    insert into selections (selection_id, owner_id, is_draft) values (:draftId, :ownerId, true) returning selection_id),
  present as (
    select files.file_id from selections join selection_files using (selection_id) join files using (file_id)
    where selection_id = :presentId and selections.owner_id = :ownerId and not is_draft
    order by files.file_id for key share of files)
  insert into selection_files (selection_id, file_id)
  select draft.selection_id, present.file_id from draft cross join present`
)

/** Counts before the insert, in the same snapshot: the limit holds also if several pages are sent at once, at `publish`. */
const markFiles = defineStatement(
  'mark_files',
  `with draft as (
    select selection_id from selections
    where selection_id = :draftId and owner_id = :ownerId and is_draft for update),
  gone as (
    delete from selection_files using draft where selection_files.selection_id = draft.selection_id
      and file_id = any (:shown::uuid[]) and file_id <> all (:ticked::uuid[]) returning file_id),
  present as (select file_id from selection_files where selection_id = :draftId and file_id not in (select file_id from gone)),
  wanted as (
    select file_id from files where file_id = any (:ticked::uuid[]) and owner_id = :ownerId
      and file_id not in (select file_id from present) order by file_id for key share),
  added as (
    insert into selection_files (selection_id, file_id)
    select draft.selection_id, file_id from draft cross join wanted
    limit (select greatest(0, ${MOST_CHOSEN} - count(*)) from present)
    on conflict do nothing returning file_id)
  select (select count(*) from draft)::int as drafts, (select count(*) from wanted)::int as wanted,
    (select count(*) from added)::int as added`
)

const publish = defineStatement(
  'publish_selection',
  `with chosen as (${DRAFT_FILES}),
  made as (insert into selections (selection_id, owner_id, is_draft)
    select :selectionId, :ownerId, false where exists (select from chosen) returning selection_id)
  insert into selection_files (selection_id, file_id) select made.selection_id, file_id from made cross join chosen`
)

/** The row is made again if it was deleted as one of the oldest. A selection of another user stays as it is. */
const replace = defineStatement(
  'replace_selection',
  `with chosen as (${DRAFT_FILES}),
  present as (
    insert into selections as known (selection_id, owner_id, is_draft)
    select :selectionId, :ownerId, false where exists (select from chosen)
    on conflict (selection_id) do update set is_draft = false
      where known.owner_id = excluded.owner_id and not known.is_draft
    returning selection_id),
  gone as (
    delete from selection_files using present where selection_files.selection_id = present.selection_id
      and file_id not in (select file_id from chosen))
  insert into selection_files (selection_id, file_id) select present.selection_id, file_id from present cross join chosen
  on conflict do nothing`
)

/** What users choose, and the drafts of it while they choose. */
export function createSelectionStore(database: Database) {
  return {
    /** Makes a draft. @param presentId of the selection that it copies, if that is of the user */
    async open({ draftId, ownerId }: Draft, presentId: string | undefined): Promise<void> {
      await database.query(makeRoom({ ownerId, most: MOST_SELECTIONS - 1 }))
      await database.query(openDraft({ draftId, ownerId, presentId: presentId ?? null }))
    },

    /**
     * Stores which files of a page are ticked; other files of the draft stay.
     * @param shown all files of the page
     * @returns `too_many` if only some were added, `unknown` if there is no such draft
     */
    async mark(draft: Draft, shown: readonly string[], ticked: readonly string[]) {
      const [row] = await database.query<{ drafts: number; wanted: number; added: number }>(
        markFiles({ ...draft, shown, ticked })
      )
      if (row === undefined || row.drafts === 0) return 'unknown'
      return row.added < row.wanted ? 'too_many' : 'saved'
    },

    /** How many files of each kind a draft has; undefined if there is no such draft. */
    async count({ draftId, ownerId }: Draft): Promise<Readonly<Record<string, number>> | undefined> {
      const rows = await database.query<{ kind: string | null; files: number }>(countFiles({ draftId, ownerId }))
      if (rows.length === 0) return undefined
      return Object.fromEntries(rows.flatMap(({ kind, files }) => (kind === null ? [] : [[kind, files]])))
    },

    /** Makes a selection of the files of a draft. */
    async publish(draft: Draft, selectionId: string): Promise<void> {
      await database.query(makeRoom({ ownerId: draft.ownerId, most: MOST_SELECTIONS - 1 }))
      await database.query(publish({ ...draft, selectionId }))
    },

    /** Gives a selection the files of a draft: those that were chosen before, and not now, are removed. */
    async replace(draft: Draft, selectionId: string): Promise<void> {
      await database.query(replace({ ...draft, selectionId }))
    },

    async remove(ownerId: string, selectionId: string): Promise<void> {
      await database.query(removeSelection({ ownerId, selectionId }))
    }
  }
}

const countFiles = defineStatement(
  'count_chosen_files',
  `select kind, count(files.file_id)::int as files from selections
   left join selection_files using (selection_id) left join files using (file_id)
   where selection_id = :draftId and selections.owner_id = :ownerId and is_draft group by kind`
)

const removeSelection = defineStatement(
  'remove_selection',
  'delete from selections where selection_id = :selectionId and owner_id = :ownerId'
)
