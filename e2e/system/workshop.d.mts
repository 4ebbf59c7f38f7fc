export type Workshop = { directory: string; processes: unknown; close(): Promise<void> }

export function openWorkshop(): Workshop
