/** The secrets that a test has made or used, and a search for them. */
export function createSecretRegister() {
  const secrets = new Map<string, Set<string>>()

  return {
    note(kind: string, ...values: (string | undefined)[]): void {
      const known = secrets.get(kind) ?? new Set()
      // What is shorter would be found by accident.
      for (const value of values) if (value !== undefined && value.length >= 12) known.add(value)
      secrets.set(kind, known)
    },
    kinds: (): string[] => [...secrets.keys()],
    all: (kind: string): string[] => [...(secrets.get(kind) ?? [])],
    /** Which of them stand in a text, in any spelling. */
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

/** A secret as it is, and in the forms in which it might hide. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = bytes.toString('base64url').slice(0, -2)
  return [secret, encodeURIComponent(secret), secret.replaceAll(' ', '+'), base64, bytes.toString('hex')]
}
