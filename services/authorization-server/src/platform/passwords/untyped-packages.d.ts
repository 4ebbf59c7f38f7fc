declare module '@phc/format' {
  type PhcString = {
    id: string
    version?: number
    params?: Record<string, string | number>
    salt?: Buffer
    hash?: Buffer
  }
  const phc: {
    /** @throws {TypeError} if the text is no PHC string */
    deserialize(text: string): PhcString
  }
  export = phc
}

declare module 'fxa-common-password-list' {
  const list: { test(password: string): boolean }
  export = list
}
