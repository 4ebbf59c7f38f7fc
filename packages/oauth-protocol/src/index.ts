export {
  bucketOfAccessToken,
  digestToken,
  expiryBucket,
  isWellFormed,
  mintAccessToken,
  mintOpaqueToken,
  type OpaqueTokenKind,
  type RandomBytes,
  type TokenDigest
} from './opaque-token.js'
