/** Addresses for `account-nav.hbs`. */
export function accountNavigation(issuer: string, shown: 'apps' | 'sign-ins' | 'sessions' | 'developer') {
  return {
    apps: `${issuer}/account/apps`,
    signIns: `${issuer}/account/sign-ins`,
    sessions: `${issuer}/account/sessions`,
    isApps: shown === 'apps',
    isSignIns: shown === 'sign-ins',
    isSessions: shown === 'sessions',
    isDeveloper: shown === 'developer'
  }
}
