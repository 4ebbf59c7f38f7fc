// The order matters: Edge and Opera also name Chrome, and Chrome also names Safari.
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari']
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b|\bX11\b/, 'Linux']
]

/** Names of browser and system from the lists above, never text of the request. Undefined: not known. */
export function browserAndSystem(userAgent: string | undefined): [string | undefined, string | undefined] {
  const given = (userAgent ?? '').slice(0, 500)
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(given))?.[1]
  return [find(BROWSERS), find(SYSTEMS)]
}

/**
 * A short name for the list of the user's sessions, such as `Firefox, Linux`. Empty if neither is known.
 */
export function describeBrowser(userAgent: string | undefined): string {
  return browserAndSystem(userAgent)
    .filter((name) => name !== undefined)
    .join(', ')
}
