export function startStoreRegistry(): Promise<{ url: string; close(): Promise<void> }>
