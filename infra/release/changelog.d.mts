export function sectionOf(changelog: string, version: string): string | undefined
export function changesOf(section: string): { kind: string; description: string }[]
export function closeUnreleased(changelog: string, version: string, date: string): string
