import { PYTHON_HASHES } from './exported-hashes-of-python.js'

// Made by the systems' own libraries, with small costs where they can be chosen; those of Keycloak, Spring's v5_8
// and Drupal 7 after the documented layout.

export const EXPORTED_HASHES: readonly { system: string; password: string; text: string }[] = [
  ...PYTHON_HASHES,
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
