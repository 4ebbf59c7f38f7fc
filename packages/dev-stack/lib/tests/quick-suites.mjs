// The suites of `npm run test:quick`: pure rules, packages, stores, and the main flows over HTTP. None needs a program that a
// machine may lack.

const QUICK = [
  'packages/(oauth-protocol|sign-in-rules)/test/',
  'packages/service-kit/test/(metrics|postgres|redis|server|stores)/',
  'packages/guard/test/(fastify|guard|introspection|revocations)/',
  'services/authorization-server/test/(protocol|storage)/',
  'services/authorization-server/test/flows/(authorize|code|consent|introspection|refresh|revocation|token)/',
  'services/authorization-server/test/flows/(?=flow[.])',
  'services/authorization-server/test/flows/storage/(?=redis-records[.])',
  'services/authorization-server/test/features/(?=(?:.*/)?[^/]+-store(?:-[^/]+)?[.]test[.])',
  'services/resource-server/test/(files|flows|http|storage)/'
]

/** Matches the path of every test file that is not in the quick selection. */
export const NOT_QUICK = new RegExp(`^(?!.*/(?:${QUICK.join('|')})(?:.*/)?[^./]+[.]test[.]ts$)`)
