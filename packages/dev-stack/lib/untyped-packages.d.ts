// A package without types, which only programs and tests use.
declare module 'oidc-provider'
