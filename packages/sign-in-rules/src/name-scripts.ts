/** UAX #31, tables 5 and 7: the scripts in modern use. Names in others, such as Coptic, mostly imitate Latin ones. */
const SCRIPTS =
  `Adlam Arabic Armenian Balinese Bamum Batak Bengali Bopomofo Canadian_Aboriginal Chakma Cham Cherokee Cyrillic
  Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hanifi_Rohingya Hebrew Hiragana Javanese Kannada Katakana Kayah_Li
  Khmer Lao Latin Lepcha Limbu Lisu Malayalam Mandaic Meetei_Mayek Miao Mongolian Myanmar New_Tai_Lue Newa Nko
  Nyiakeng_Puachue_Hmong Ol_Chiki Oriya Osage Saurashtra Sinhala Sundanese Syloti_Nagri Syriac Tai_Le Tai_Tham Tai_Viet Tamil
  Telugu Thaana Thai Tibetan Tifinagh Vai Wancho Yi`.split(/\s+/)

/** The mixtures of the level "Highly Restrictive": Japanese, Chinese and Korean. */
const MIXTURES = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul']
]

/** Check marks, shields, locks and badges, with which the pages of a service mark what it has checked. */
const BADGES = /[\u2611\u2705\u2713\u2714\u{1f396}\u{1f3c5}\u{1f4db}\u{1f50f}-\u{1f513}\u{1f5f8}\u{1f5f9}\u{1f6e1}]/u

let allowed: readonly RegExp[] | undefined

/** Why a user may not choose this name for an app; undefined if it may be chosen (UTS #39 §5.2 and §5.3). */
export function nameScriptProblem(name: string): 'mixed_scripts' | 'mixed_numbers' | 'badge' | undefined {
  if (BADGES.test(name)) return 'badge'
  if (hasMixedScripts(name)) return 'mixed_scripts'
  return hasMixedNumbers(name) ? 'mixed_numbers' : undefined
}

/** Whether a name has letters of two scripts that are not used together, or of a script that is not used today. */
export function hasMixedScripts(name: string): boolean {
  allowed ??= [...MIXTURES, ...SCRIPTS.map((script) => [script])].map((scripts) => {
    const sets = ['Common', 'Inherited', ...scripts].map((script) => `\\p{Script_Extensions=${script}}`)
    return new RegExp(`^[${sets.join('')}]*$`, 'u')
  })
  const text = name.normalize('NFC')
  return !allowed.some((pattern) => pattern.test(text))
}

/** Whether a name has digits of two decimal systems, such as ASCII and Arabic-Indic ones. */
function hasMixedNumbers(name: string): boolean {
  const zeros = [...name].filter((character) => DIGIT.test(character)).map(zeroOf)
  return new Set(zeros).size > 1
}

const DIGIT = /\p{Nd}/u

/** The code point of the zero of the same system. Ten digits follow each other, and a run of digits begins with a zero. */
function zeroOf(digit: string): number {
  const point = digit.codePointAt(0) ?? 0
  let first = point
  while (DIGIT.test(String.fromCodePoint(first - 1))) first -= 1
  return point - ((point - first) % 10)
}
