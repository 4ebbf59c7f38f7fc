import { MOST_CHOSEN } from '../storage/selections.js'
import { MOST_SEARCHED, type ShownFile, type ShownFiles } from '../storage/shown-files.js'
import type { Choice } from './choice.js'
import { type View, writePosition } from './file-filter.js'
import type { Language } from './language.js'

/** Why the page is shown again. */
export type Notice = 'full' | 'none'

type PageInput = {
  choice: Choice
  view: View
  language: Language
  now: Date
  notice: Notice | undefined
  page: Awaited<ReturnType<ShownFiles['page']>>
  folders: readonly string[]
  /** Of the draft. */
  chosen: number
}

/** The data of views/choose.hbs, apart from the address and the hidden field of the form. */
export function choosePageData({ choice, view, language, now, notice, page, folders, chosen }: PageInput) {
  const { files, isNewerThere, isOlderThere, isCut } = page
  const [first, last] = [files[0], files.at(-1)]
  const isFiltered = view.search !== '' || view.folder !== ''
  const newer = isNewerThere && first !== undefined ? writePosition(first) : ''
  const older = isOlderThere && last !== undefined ? writePosition(last) : ''
  const hasFiles = files.length > 0 || isFiltered || view.onlyChosen || view.after !== undefined
  return {
    client: choice.clientName,
    titleKey: titleKey(choice),
    notice: notice === undefined ? '' : `choose.notice_${notice}`,
    isRefused: notice === 'none',
    most: MOST_CHOSEN,
    after: view.after === undefined ? '' : writePosition(view.after),
    before: view.before === undefined ? '' : writePosition(view.before),
    search: view.search,
    folder: view.folder,
    onlyChosen: view.onlyChosen,
    isFiltered,
    hasFilter: hasFiles,
    folders: folders.map((path) => ({ path, label: folderLabel(path), isChosen: path === view.folder })),
    listKey: view.onlyChosen ? 'choose.list_chosen' : 'choose.list',
    ...emptyKeys(view.onlyChosen && !isFiltered ? 'none_chosen' : hasFiles ? 'none_found' : 'no_files'),
    files: files.map((file) => fileData(file, language, now)),
    newer,
    older,
    hasPages: newer !== '' || older !== '',
    isCut: isFiltered && isCut && !view.onlyChosen,
    mostSearched: MOST_SEARCHED,
    chosen
  }
}

export const titleKey = ({ identifier }: Choice): string =>
  identifier === undefined ? 'choose.title' : 'choose.title_change'

const emptyKeys = (name: string) => ({ emptyKey: `choose.${name}`, emptyTextKey: `choose.${name}_text` })

function fileData({ fileId, name, kind, size, createdAt, folder, isChosen }: ShownFile, language: Language, now: Date) {
  return {
    id: fileId,
    name,
    kind: language.toText(`kind.${kind}`),
    icon: `kind-${kind}`,
    size: language.bytes(size),
    iso: createdAt.toISOString(),
    exact: language.time(createdAt),
    ago: language.ago(now.getTime() - createdAt.getTime()),
    folder: folderLabel(folder),
    isChosen
  }
}

/** With spaces, so that a long path can break. */
const folderLabel = (path: string): string => path.split('/').join(' / ')
