export function readPreviousRelease(file: string): { version: string; commit: string } | undefined
