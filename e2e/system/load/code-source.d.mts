export function createCodeSource(options: {
  issuer: string
  clientId: string | undefined
  redirectUri: string
  username: string
  password: string
}): Promise<() => Promise<string>>
