/** Collects the secrets of a test and searches for them. */
export function createSecretRegister() {
  const secrets = new Map<string, Set<string>>()

  return {
    note(kind: string, ...values: (string | undefined)[]): void {
      const known = secrets.get(kind) ?? new Set()
      // Shorter values could occur by chance.
      for (const value of values) if (value !== undefined && value.length >= 12) known.add(value)
      secrets.set(kind, known)
    },
    kinds: (): string[] => [...secrets.keys()],
    all: (kind: string): string[] => [...(secrets.get(kind) ?? [])],
    /** The secrets that a text contains in any encoding. */
    leaks(text: string, kinds: readonly string[] = [...secrets.keys()]): string[] {
      return kinds.flatMap((kind) =>
        [...(secrets.get(kind) ?? [])]
          .flatMap(spellings)
          .filter((spelling) => text.includes(spelling))
          .map((spelling) => `${kind}: ${spelling}`)
      )
    }
  }
}

/** A secret in all encodings in which it may occur. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = bytes.toString('base64url').slice(0, -2)
  return [secret, encodeURIComponent(secret), secret.replaceAll(' ', '+'), base64, bytes.toString('hex')]
}
