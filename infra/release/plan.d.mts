type Read = (file: string) => string
export function planRelease(read: Read, version: string, date: string): Map<string, string>
export function refuseRelease(read: Read, version: string): string[]
export function refuseTag(read: Read, tag: string): string[]
export function outdatedPages(read: Read): string[]
