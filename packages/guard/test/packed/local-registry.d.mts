export function startLocalRegistry(directory: string, uplink: string): Promise<{ url: string; close(): Promise<void> }>
export function programOf(name: string): string
