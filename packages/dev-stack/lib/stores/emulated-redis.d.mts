import type { Redis } from 'ioredis'

export function createEmulatedRedis(host: string): Redis
