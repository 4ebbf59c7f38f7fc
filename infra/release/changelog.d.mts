export function sectionOf(changelog: string, version: string): string | undefined
export function closeUnreleased(changelog: string, version: string, date: string): string
