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

/**
 * A short name for the list of the user's sessions, such as `Firefox, Linux`. Empty if neither is known. Only names from the
 * lists above are stored, never text of the request.
 */
export function describeBrowser(userAgent: string | undefined): string {
  const given = (userAgent ?? '').slice(0, 500)
  const names = [BROWSERS, SYSTEMS].map((list) => list.find(([pattern]) => pattern.test(given))?.[1])
  return names.filter((name) => name !== undefined).join(', ')
}
