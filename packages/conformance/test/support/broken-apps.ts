/** The apps that the broken server knows. */
export const APP = { id: 'app', secret: 'secret-of-the-app', redirectUri: 'http://127.0.0.1:8765/callback' }
export const OTHER = { id: 'other', secret: 'secret-of-the-other', redirectUri: 'https://other.example/callback' }
export const PUBLIC = { id: 'public', secret: undefined, redirectUri: 'http://127.0.0.1:8765/callback' }
export const NATIVE = { id: 'native', secret: undefined, redirectUri: 'com.example.native:callback' }
export const SCOPE = 'files.read'

export type Answer = { status: number; headers?: Record<string, string>; body?: string }
