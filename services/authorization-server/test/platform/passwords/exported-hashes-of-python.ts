// Made by the systems' own libraries, with small costs where they can be chosen.

export const PYTHON_HASHES: readonly { system: string; password: string; text: string }[] = [
  {
    system: 'passlib pbkdf2_sha1',
    password: 'gravel walks at dawn',
    text: '$pbkdf2$1000$hbDWmpOSkvLeu3fOmTMGwA$4G/k0pMztghLkQayF/WpdAXy8qI'
  },
  {
    system: 'passlib pbkdf2_sha256',
    password: 'gravel walks at dawn',
    text: '$pbkdf2-sha256$1000$EsI4p9T6X.vdm/M.R4gxpg$O0goDYiTswZj3yiSGNw2vWv88rSYgfr4oo8sPSPeIV0'
  },
  {
    system: 'passlib pbkdf2_sha512',
    password: 'gravel walks at dawn',
    text: '$pbkdf2-sha512$1000$1DpHCMHYm1PqXWvt/T.HUA$iSGvNg5ZSKoWhUACixSY4xAsZpytNF0CD3dqi0h1tLouS96bGHXrqTHoufLbKOyQlgk4WiPaL.ZxfXdJV.zKYA'
  },
  {
    system: 'passlib scrypt',
    password: 'gravel walks at dawn',
    text: '$scrypt$ln=8,r=8,p=1$n5NyjpGSkpJyDgEghHBOqQ$0xWJORVealWUHAFEyBue5hiPwZgAGt9sDpNsCO7tgoM'
  },
  {
    system: 'passlib bcrypt_sha256',
    password: 'gravel walks at dawn',
    text: '$bcrypt-sha256$v=2,t=2b,r=4$hqaCioXCvKAXNgWAdN8Qm.$z9.coEAOzGw1K0UgE7u5noL3XzQ4iAi'
  },
  {
    system: 'passlib bcrypt_sha256 v1',
    password: 'gravel walks at dawn',
    text: '$bcrypt-sha256$2b,4$0GvKi9TFpbLc4qHuYBjPY.$hweTys3rUM3AvtAOaxHWbnjTE0p8M0W'
  },
  {
    system: 'passlib argon2',
    password: 'gravel walks at dawn',
    text: '$argon2id$v=19$m=64,t=1,p=1$hvB+DyHk3JtTaq31/n9PCQ$o30BgqzlNuxE71UwrxTXkA'
  },
  {
    system: 'passlib sha256_crypt',
    password: 'gravel walks at dawn',
    text: '$5$rounds=1000$/39QYiomiAOAb3Od$gHaVZydY5Ex5qNIImxWhIlyi6Vh9aYAeqvrL9XgN/B8'
  },
  {
    system: 'passlib sha512_crypt',
    password: 'gravel walks at dawn',
    text: '$6$KOQa/OjYOzYuYUV8$gHLSm1JayR4PbsXBt7K6fmQlTX6zy8mhWVjtA5kw.fVhfsrunf1ek1nITWdwqcWW1xL1SuWZ1V2e4MfDY6UCy1'
  },
  { system: 'passlib phpass', password: 'gravel walks at dawn', text: '$P$HNKtlUoaCZqcTuklePo2pzC8jPKZVJ/' },
  {
    system: 'passlib atlassian_pbkdf2_sha1',
    password: 'gravel walks at dawn',
    text: '{PKCS5S2}G0No7T2HcG7tnTPmPEfI2RZ3Yk0wcxQwVuZmSguWe6YCr1roIFC+y75m/WloWqwi'
  },
  {
    system: 'django PBKDF2PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'pbkdf2_sha256$1000$9ldAhgFYcFjv3ssbv13zdv$1Ndr/ir5+KJ3ILBExWYd0WmK9huvngbgqeKYdoJSQSM='
  },
  {
    system: 'django PBKDF2SHA1PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'pbkdf2_sha1$1000$K6YcVk81Csz2LebBEK7xFq$XeyCxNNco9oH8RorCtK2V6sJkxQ='
  },
  {
    system: 'django Argon2PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'argon2$argon2id$v=19$m=102400,t=2,p=8$WDJaWmxMQWRXSldBVm56Z01uUHNZTg$yodpVeQ6fMEYL2tj6ExIzQ'
  },
  {
    system: 'django BCryptSHA256PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'bcrypt_sha256$$2b$04$JXn.pSObUqnRal0BI4USmOXCrz0LywEvXp9..vaXW9OV5I8FYnkGW'
  },
  {
    system: 'django BCryptPasswordHasher',
    password: 'gravel walks at dawn',
    text: 'bcrypt$$2b$04$j1PzrLTrYAbKcUATAdvkh.rruHhTXVEqW5k61dI31EgDpBvdJ4kTC'
  },
  {
    system: 'django ScryptPasswordHasher',
    password: 'gravel walks at dawn',
    text: 'scrypt$1024$30mPmzK6wFi5M8F4$8$1$1etXzPw7XBqr2MsmyqBezWF/nytZDRSG1fT2KvH8Ii6UEQnFXAVKO6tgJIketmLQP9TZsQmIxKjihG6KV5KL9g=='
  },
  {
    system: 'django SHA1PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'sha1$RJveqpcgAa8cElbRQmdsZn$be9f6e218e9cc0fd87b60b52b04d858f83230a98'
  },
  {
    system: 'django MD5PasswordHasher',
    password: 'gravel walks at dawn',
    text: 'md5$4WlwPqkTXaHKdk3SxNn9HM$5ab1fc9f49e52a8a61e9f51136e7a8c1'
  },
  {
    system: 'werkzeug pbkdf2',
    password: 'gravel walks at dawn',
    text: 'pbkdf2:sha256:1000$30mPmzK6wFi5M8F4$99834f9cfe6dc7b2e511e7e8a42da4a0f0a29a9b832b03371893558951f3fe2c'
  },
  {
    system: 'werkzeug pbkdf2 sha1',
    password: 'gravel walks at dawn',
    text: 'pbkdf2:sha1:1000$jgM5Fnj8$a511388e92948ab64aa11c014ef066163875489b'
  },
  {
    system: 'werkzeug pbkdf2 sha512',
    password: 'gravel walks at dawn',
    text: 'pbkdf2:sha512:1000$fLXbHEGxKHFWLp3S$8fc08a1c097db26cc0ede08602dfb8ded1e4587e5fe11da94b49bcb4ae99c528f0850aa63638d483b53599e4f9309a16db936e3cf686bed9a2c8eec8df8feed7'
  },
  {
    system: 'werkzeug scrypt',
    password: 'gravel walks at dawn',
    text: 'scrypt:1024:8:1$30mPmzK6wFi5M8F4$d5eb57ccfc3b5c1aabd8cb26caa05ecd617f9f2b590d1486d5f4f62af1fc222e941109c55c054a3bab6024891eb662d03fd4d9b10988c4a8e2846e8a57928bf6'
  },
  {
    system: 'werkzeug sha256',
    password: 'gravel walks at dawn',
    text: 'sha256$IqODsLeIHAfxygnt$c7b561edb0c82daa83acaa0ed3e59a71fbb44dfa0f487b8557800e4c80cd6ed8'
  },
  {
    system: 'Django scrypt',
    password: 'lètmein',
    text: 'scrypt$16384$seasalt$8$1$Qj3+9PPyRjSJIebHnG81TMjsqtaIGxNQG/aEB/NYafTJ7tibgfYz71m0ldQESkXFRkdVCBhhY8mx7rQwite/Pw=='
  }
]
