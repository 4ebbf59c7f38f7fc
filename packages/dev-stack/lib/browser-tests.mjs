// The tests that need a browser. Their files say in their names which one, so a machine without it can leave them out.

const kinds = [
  {
    browser: 'chromium',
    files: /\.chromium\.test\.ts$/,
    missing: 'the browser tests, for want of Chromium (install it, or name it in CHROMIUM)'
  },
  {
    browser: 'firefox',
    files: /\.firefox\.test\.ts$/,
    missing: 'the tests in Firefox, for want of it (install it, or name it in FIREFOX)'
  }
]

/**
 * @param {{ chromium?: string, firefox?: string }} browsers where this machine has them
 * @returns for each one that it lacks: the files that cannot run, and how that is said
 */
export const testsWithoutBrowser = (browsers) => kinds.filter(({ browser }) => browsers[browser] === undefined)
