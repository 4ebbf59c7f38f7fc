// CommonJS with types: TypeScript allows it since 5.8.
import guardPackage = require('@valetkey/guard')
import nodeAdapter = require('@valetkey/guard/node')

export const guard: guardPackage.Guard | undefined = undefined
export const { requireAccessToken } = nodeAdapter
