// Made by the systems' own libraries, with small costs where they can be chosen; those of Keycloak, Spring's v5_8
// and Drupal 7 after the documented layout.

export const EXPORTED_HASHES: readonly { system: string; password: string; text: string }[] = [
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
  { system: 'LDAP {SSHA}', password: 'gravel walks at dawn', text: '{SSHA}KRhxe1pJ3unRN8mcgYgoTQGcTD67d04p' },
  {
    system: 'LDAP salted_sha256',
    password: 'gravel walks at dawn',
    text: '{SSHA256}XvLdqU69Y15xlM31VzeoiGn79i4++p7nhkBYOGDjDB0zplTKOUdo7Q=='
  },
  {
    system: 'LDAP salted_sha512',
    password: 'gravel walks at dawn',
    text: '{SSHA512}LOTeQdSFF0adkLv3blnS3EX6J35fgK1KIa6q3K97/i8zIs9VRnCUvqLAY8mxeZbAEM3cDWx54zJHy2tihOj9gS3FuDdmbG0t'
  },
  { system: 'LDAP salted_md5', password: 'gravel walks at dawn', text: '{SMD5}jaVM3vss0Db7O9NqRbgNS1+LUao=' },
  {
    system: 'LDAP pbkdf2_sha1',
    password: 'gravel walks at dawn',
    text: '{PBKDF2}1000$B0Co1dp7730vJcSY8/6fUw$sdk1849oupQ8uj1s5MJuR2Ud7SY'
  },
  {
    system: 'LDAP pbkdf2_sha256',
    password: 'gravel walks at dawn',
    text: '{PBKDF2-SHA256}1000$yLkXQqj1fo.xtlaqFWIsBQ$RLXvGBpaez3v88/ORWXMeMAXwnhhHUXVF6JFkWCdv2w'
  },
  {
    system: 'LDAP pbkdf2_sha512',
    password: 'gravel walks at dawn',
    text: '{PBKDF2-SHA512}1000$J4SQUkqJUep9r3Uu5fz/Hw$QAvvDKHYB9Z5WzhiwUBnSXXmncggQg3NrgCymgiW4Vo1YxNCRejbOESD9wdZfOPzr2tW0Y3L4i4Q96pgsPfLyA'
  },
  {
    system: 'LDAP bcrypt',
    password: 'gravel walks at dawn',
    text: '{CRYPT}$2b$04$mjXFGUhMKs6amCPT8Ddg5OeWZQ7jYwkzCgjynNNXoGLadU0ipInpO'
  },
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
    system: 'better-auth',
    password: 'gravel walks at dawn',
    text: '1887f06a36c2c3deb4885eb692f8f6a1:666113726145902d41dbebc8363ab3123c1d536875790afefe81ccfc872075fe88ef30bdb810f43aed2bc7187ba6a9d5bed4cc57c064a46302585c16f1226991'
  },
  {
    system: 'Keycloak pbkdf2-sha256',
    password: 'gravel walks at dawn',
    text: '{"type":"password","secretData":"{\\"value\\":\\"6Q3m30ekr9FuvI53krh8bErdypA5A1tfGt0z2IzJBrL//wE8dfyTGiKJK6DXjGyQaDwkQwg80WCiz9/A35xObg==\\",\\"salt\\":\\"Cch08gYnKQZEcCUymCqdaw==\\",\\"additionalParameters\\":{}}","credentialData":"{\\"hashIterations\\":1000,\\"algorithm\\":\\"pbkdf2-sha256\\",\\"additionalParameters\\":{}}"}'
  },
  {
    system: 'Keycloak pbkdf2-sha512',
    password: 'gravel walks at dawn',
    text: '{"type":"password","secretData":"{\\"value\\":\\"nWOoiBdIX9WR22AfuEQU0nu88GDLVq601DUNMh0B/TcjSbrvMr69f43EYyRc8Qc5gi+TQxpvNibyhKhCf+QfJw==\\",\\"salt\\":\\"Cch08gYnKQZEcCUymCqdaw==\\",\\"additionalParameters\\":{}}","credentialData":"{\\"hashIterations\\":1000,\\"algorithm\\":\\"pbkdf2-sha512\\",\\"additionalParameters\\":{}}"}'
  },
  {
    system: 'Keycloak pbkdf2',
    password: 'gravel walks at dawn',
    text: '{"type":"password","secretData":"{\\"value\\":\\"DSWxP5/m/+Rov4GrbUQuSeVQ2AfvvsuMbwQukE9T5uAytyeNBX3vlg/MCWrexvdhchKS+L//rdHPpZoC3g2YTQ==\\",\\"salt\\":\\"Cch08gYnKQZEcCUymCqdaw==\\",\\"additionalParameters\\":{}}","credentialData":"{\\"hashIterations\\":1000,\\"algorithm\\":\\"pbkdf2\\",\\"additionalParameters\\":{}}"}'
  },
  {
    system: 'PHP crypt $6$ with rounds',
    password: 'gravel walks at dawn',
    text: '$6$rounds=1000$saltstring$d9rpN5F.I0i/6Wi0UnZEwEZfnGloluYPLV03aRmwZA3Z3rN.tImVW0YdeDsl7l0PRcISoIsOSZIQDnsSVN4FP/'
  },
  {
    system: 'PHP crypt $5$',
    password: 'gravel walks at dawn',
    text: '$5$saltstring$lgQlK33/oOctKC751QV7DvY24W.23rXlVTIrQ19wRNA'
  },
  {
    system: 'LDAP {CRYPT}',
    password: 'gravel walks at dawn',
    text: '{CRYPT}$5$saltstring$lgQlK33/oOctKC751QV7DvY24W.23rXlVTIrQ19wRNA'
  },
  {
    system: 'WordPress 6.8',
    password: 'gravel walks at dawn',
    text: '$wp$2y$04$EVXkIYkf639om0reFYLAReDymaZbM0nRGF6e/qpxchxRxZInA8JTS'
  },
  {
    system: 'PHP password_hash',
    password: 'gravel walks at dawn',
    text: '$2y$04$0bkAUhqVbLo29HytklQ8c.nDquQOQzJJSNCQgDC71FuNLXcO/.lJK'
  },
  {
    system: 'bcrypt of MD5',
    password: 'gravel walks at dawn',
    text: '{md5-hex}$2y$04$yU46NlJbYa5lo2sM132KDOK9xkIgugHXQOxUntN8OIWaxv.yhV2JO'
  },
  {
    system: 'Nextcloud',
    password: 'gravel walks at dawn',
    text: '3|$argon2id$v=19$m=64,t=1,p=1$MkpjcUV1NUZkbklFQkJBWg$NyahMkVKLh/W1v7aO/DIEjjVwLDF9JaQ8BH1Qy6EeFE'
  },
  {
    system: 'LDAP {ARGON2}',
    password: 'gravel walks at dawn',
    text: '{ARGON2}$argon2id$v=19$m=64,t=1,p=1$MkpjcUV1NUZkbklFQkJBWg$NyahMkVKLh/W1v7aO/DIEjjVwLDF9JaQ8BH1Qy6EeFE'
  },
  {
    system: 'Dovecot {BLF-CRYPT}',
    password: 'gravel walks at dawn',
    text: '{BLF-CRYPT}$2y$04$0bkAUhqVbLo29HytklQ8c.nDquQOQzJJSNCQgDC71FuNLXcO/.lJK'
  },
  {
    system: 'LDIF in base64',
    password: 'gravel walks at dawn',
    text: 'e1NTSEF9S1JoeGUxcEozdW5STjhtY2dZZ29UUUdjVEQ2N2QwNHA='
  },
  {
    system: 'ASP.NET Identity v2',
    password: 'my password',
    text: 'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg=='
  },
  {
    system: 'ASP.NET Identity v3 SHA-1',
    password: 'my password',
    text: 'AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M'
  },
  {
    system: 'ASP.NET Identity v3 SHA-256',
    password: 'my password',
    text: 'AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ='
  },
  {
    system: 'ASP.NET Identity v3 SHA-512',
    password: 'my password',
    text: 'AQAAAAIAACcQAAAAEAABAgMEBQYHCAkKCwwNDg9B0Oxwty+PGIDSp95gcCfzeDvA4sGapUIUov8usXfD6A=='
  },
  {
    system: 'ASP.NET Identity v3 SHA-512, 64 bytes',
    password: 'my password',
    text: 'AQAAAAIAAAD6AAAAIJbVi5wbMR+htSfFp8fTw8N8GOS/Sje+S/4YZcgBfU7EQuqv4OkVYmc4VJl9AGZzmRTxSkP7LtVi9IWyUxX8IAAfZ8v+ZfhjCcudtC1YERSqE1OEdXLW9VukPuJWBBjLuw=='
  },
  {
    system: 'Spring {pbkdf2}',
    password: 'password',
    text: '{pbkdf2}5d923b44a6d129f3ddf3e3c8d29412723dcbde72445e8ef6bf3b508fbf17fa4ed4d6b99ca763d8dc'
  },
  {
    system: 'Spring {scrypt}',
    password: 'password',
    text: '{scrypt}$e0801$8bWJaSu2IKSn9Z9kM+TPXfOc/9bdYSrN1oD9qfVThWEwdRTnO7re7Ei+fUZRJ68k9lTyuTeUp4of4g24hHnazw==$OAOec05+bXxvuu/1qZ6NUR+xQYvYv7BeL1QxwRpY5Pc='
  },
  {
    system: 'Spring {pbkdf2@SpringSecurity_v5_8}',
    password: 'gravel walks at dawn',
    text: '{pbkdf2@SpringSecurity_v5_8}000102030405060708090a0b0c0d0e0f63dfc2b32d50dfb34a6f9292ec364140648b103577dcc9a487d1e7ea2e463c06'
  },
  {
    system: 'Spring {bcrypt}',
    password: 'password',
    text: '{bcrypt}$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG'
  },
  {
    system: 'Django scrypt',
    password: 'lètmein',
    text: 'scrypt$16384$seasalt$8$1$Qj3+9PPyRjSJIebHnG81TMjsqtaIGxNQG/aEB/NYafTJ7tibgfYz71m0ldQESkXFRkdVCBhhY8mx7rQwite/Pw=='
  },
  {
    system: 'better-auth, password normalised with NFKC',
    password: 'ﬁnal Å walks at dawn',
    text: 'ba50f4fbcd87a245083fdef80735d37f:f9392a2635bcb7dab7a51cf1c21fb7e4552908cc9d4cd5d4f9d0bc3e250fe4c84372d86b42823587e60b3b4dca15853f275fef1294bcafa5963aff42a030f37d'
  },
  {
    system: '389 Directory Server',
    password: 'hashcat',
    text: '{PBKDF2_SHA256}AACkEGhlaiBqZW5z/jtuSox0CrtV9SHiVFjYeHpQ/ki2kwDrQeSqiiTn8LOmpPCw3r6TK/JDfl+ZAXRoc3VidGxldHllIXuxBDl6ItQOMupkRn+hzi/LEdr62a7B9sNOo8BPL9Z2nOi/m9AI+nAd/qwpLD1fbeDgs2DdpCZ4QfljuCLRBdURZV3HcXDUjD7PZ1CQcIOv9VbFlbu0IBmiU7ccMyb/qoxi+rPMqE4U8f6hL0TQjTjlOzU9MpPYS+WfztpYy7lEN6QghhOz0xe+0y2rDoK+yCS4PykkNS4FFc+xeiT6SNy3r7m+0teyaQKOExLrjogWkj+t+e4bMpHNx/FL3jkjCsuZnhq/t8eshG9DKmeD9b/QMkqT8dxe0jmr0s4+GnmHpMQMAxYW3pg70TluiDp3kJrDr1/d8OQerkQRevNx'
  },
  {
    system: 'Drupal 7',
    password: 'gravel walks at dawn',
    text: '$S$8abcdefgheCpLP5MBYWzLwT3yib7kfFIuG0FU2y/EJ6IwIf4uE8i'
  }
]

export const REFUSED_HASHES: readonly { name: string; text: string; says: string }[] = [
  {
    name: 'an unusable password of Django',
    text: '!zSwd1j0AK97v9csnoH9JT72bY8WLAzlFHdXUwiM0',
    says: 'locked or missing'
  },
  { name: 'a locked account', text: '!', says: 'locked or missing' },
  { name: 'LDAP {CRYPT} of MD5', text: '{CRYPT}$1$yWqY.los$GB3BqY/zNG/0ngZWSYfPj.', says: 'MD5-crypt' },
  { name: 'MD5-crypt', text: '$1$p..CLtgn$3O79nIb7n7zYTBlAVCSjN/', says: 'MD5-crypt' },
  { name: 'apr1', text: '$apr1$fAaWKX6B$oPBFXwjt39n2wIPPjpwaL1', says: 'apr1' },
  { name: 'Solaris', text: '$md5,rounds=34000$5B0lw98d$$r3Njymp9CkveMuKv6LvfK0', says: 'Solaris' },
  { name: 'NT', text: '$3$$9f11c0b3a5f69bfd17eb46317332c0fd', says: 'NT hash' },
  { name: 'SHA1-crypt', text: '$sha1$480000$c.UUEQXE$t3jK5bLtVfXZuhbiJEecXNjIOBXt', says: 'SHA1-crypt' },
  { name: 'dlitz', text: '$p5k2$3e8$sf0wxUX2OsJY3SFA$pv1W8LwEjgOoq4129Jf1NMR4loqJFkLt', says: 'p5k2' },
  {
    name: 'GRUB',
    text: 'grub.pbkdf2.sha512.1000.C39813C2586BCDB957CA592BA574EE1DE39C73AEF53E07E0DC1B63AC55CA19E3FC9FB396F2DEDB3B27E43CE7BC37666CCD99F35EAB756EADB59652EA9D13C218.65FE6845A35F7035800A782F44A896BA17EAED9C975797EE8C3CD32D1457BDAAF464795A4689650D6CF73614AD3B780498292E3163CAC6315937930C638E7182',
    says: 'GRUB'
  },
  {
    name: 'SCRAM',
    text: '$scram$100000$fE8J4bz3HiOE0Hov$sha-1=EjYqsGq5O3IduCyydCwgePeVBGM,sha-256=EZ0gyH8FUYTc1NI1wbSAp9oVoKuEm2K6o.RWFb6NAgw,sha-512=IIYP65y8rXaXATrXNfYPi.MSJMHN9Dd4E9ymt6f1EJUICGItBSP2lN7CsxHIhoej2RUm9f0bckYSEqzEnK.oeA',
    says: 'SCRAM'
  },
  {
    name: 'FSHP',
    text: '{FSHP1|16|480000}xZgTIsS4VyrlHOOcE8KYk88i/DNZnhzo82jPT+eZeyVDXMXXxGmARm5u0/pKpZtv',
    says: 'FSHP'
  },
  { name: 'Postgres', text: 'md5b8610450ce1b661c4093481dff815f36', says: 'Postgres' },
  { name: 'MySQL', text: '*FAC17A18CCF50F96581BF2980A534A28499EEE67', says: 'MySQL' },
  { name: 'SQL Server', text: '0x010064CC3967CB3273311D180374F555807EAEA030EDCDBC0A54', says: 'SQL Server' },
  { name: 'Oracle', text: 'S:45CFF013C6882959EC90C49E82DA13090CACA8E45DB0D6D19AE586E1BBF3', says: 'Oracle' },
  { name: 'MD5', text: '1e147fda51c37342c639248b6dc6c66e', says: 'md5-hex' },
  { name: 'SHA-1', text: '2fd7ec7695eb8bce3327862263cd120d738e8200', says: 'sha1-hex' },
  { name: 'SHA-256', text: 'f38f6faa2194d70a0f3432c4a73dc4029630bc1c99f42a1cb600d9031fe62b8e', says: 'sha256-hex' },
  {
    name: 'SHA-512',
    text: 'aaae5561596d1a936c9583b8b86988df22324bea7463c503f904d96d7575c8a3ce63be38f59fc5ce9bf4d9f97565ed43c02480d90b4fa649a410d0eb52374a3b',
    says: 'sha512-hex'
  },
  { name: 'unsalted SHA-1 of Django', text: 'sha1$$2fd7ec7695eb8bce3327862263cd120d738e8200', says: 'sha1-hex' },
  { name: 'LDAP {MD5}', text: '{MD5}HhR/2lHDc0LGOSSLbcbGbg==', says: 'md5-hex' },
  { name: 'LDAP {SHA}', text: '{SHA}L9fsdpXri84zJ4YiY80SDXOOggA=', says: 'sha1-hex' },
  { name: 'plain text of Roundup', text: '{plaintext}gravel walks at dawn', says: 'not hashed' },
  { name: 'DES-crypt', text: 'BbgEJXbecbVfE', says: 'DES-crypt' },
  { name: 'LDAP {CRYPT} of DES', text: '{CRYPT}XWRsJcIfjfwWE', says: 'DES-crypt' },
  { name: 'DES of Django', text: 'crypt$$htrL3Yhf4cSmo', says: 'DES-crypt' },
  { name: 'DES of BSDi', text: '_7C/.HODtafkQEh/P/aw', says: 'DES-crypt' },
  {
    name: 'yescrypt',
    text: '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7',
    says: 'yescrypt'
  },
  {
    name: 'Firebase',
    text: 'LSJ2TrVAL8vSGlbH5JXdgc6RMJJcTPpW+GiSgSkJqYRPhKlJhpgDvJjBlrPUqdF7D3KmE3nVbLgJ1vLQxg0ZUg==',
    says: 'Firebase'
  },
  {
    name: 'Spring {sha256}',
    text: '{sha256}97cde38028ad898ebc02e690819fa220e88c62e0699403e94fff291cfffaf8410849f27605abcbc0',
    says: 'StandardPasswordEncoder'
  },
  { name: 'Spring {noop}', text: '{noop}password', says: 'not hashed' },
  { name: 'a password that LDAP forwards', text: '{SASL}alice@example.com', says: 'another server' },
  { name: 'an unknown scheme', text: '{NS-MTA-MD5}5f4dcc3b5aa765d61d8327deb882cf99', says: '{NS-MTA-MD5}' },
  {
    name: 'a credential of Keycloak of an extension',
    text: '{"type":"password","secretData":"{\\"value\\":\\"a\\",\\"salt\\":\\"b\\"}","credentialData":"{\\"hashIterations\\":10,\\"algorithm\\":\\"bcrypt\\"}"}',
    says: 'Keycloak'
  }
]
