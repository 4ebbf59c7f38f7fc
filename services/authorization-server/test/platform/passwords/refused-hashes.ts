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
