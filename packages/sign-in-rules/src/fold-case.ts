const ASCII = /^[\0-\x7f]*$/

/**
 * Full case folding (Unicode §3.13), which JavaScript does not have. It folds each character by itself, because the lower case of
 * a sigma depends on its place. The dotless i is the only character that case folding keeps and this chain would change.
 */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text.replace(/[^\u0131]/gu, (character) => character.toLowerCase().toUpperCase().replace(/./gu, toLowerCase))
}

const toLowerCase = (character: string): string => character.toLowerCase()
