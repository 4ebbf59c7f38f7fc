import { expect, test } from '@jest/globals'
import { postgresUrls, problemOfPostgresUrl } from '../../src/postgres/postgres-url.js'

test.each([
  ['postgres://u:p@db:5432/name', ['postgres://u:p@db:5432/name']],
  [
    'postgresql://u:p@one:5432,[::1]:5433/name?target_session_attrs=read-write&sslmode=verify-full',
    ['postgresql://u:p@one:5432/name?sslmode=verify-full', 'postgresql://u:p@[::1]:5433/name?sslmode=verify-full']
  ],
  ['postgres://db/name?target_session_attrs=primary', ['postgres://db/name']],
  ['postgres://db/name?application_name=b&target_session_attrs=primary', ['postgres://db/name?application_name=b']],
  // The driver treats all three as verify-full, and warns at each start that this will change.
  ['postgres://db/name?sslmode=require&user=b', ['postgres://db/name?sslmode=verify-full&user=b']],
  ['postgres://db/name?sslmode=verify-ca', ['postgres://db/name?sslmode=verify-full']],
  ['postgres://db/name?sslmode=no-verify', ['postgres://db/name?sslmode=no-verify']],
  [
    'postgres://db/name?uselibpqcompat=true&sslmode=require',
    ['postgres://db/name?uselibpqcompat=true&sslmode=require']
  ],
  // The authorities that Node trusts, which the driver uses without a file.
  ['postgres://db/name?sslrootcert=system', ['postgres://db/name?sslmode=verify-full']],
  ['postgres://db/name?sslmode=verify-full&sslrootcert=system', ['postgres://db/name?sslmode=verify-full']],
  ['postgres://db/name?ssl=true', ['postgres://db/name?sslmode=verify-full']],
  ['postgres://db/name?sslnegotiation=direct', ['postgres://db/name?sslnegotiation=direct&sslmode=verify-full']],
  ['postgres://db/name?channel_binding=prefer&gssencmode=disable&client_encoding=utf8', ['postgres://db/name']],
  [
    'postgres:///name?host=/run/postgresql&port=5433&user=u&password=p',
    ['postgres:///name?host=%2Frun%2Fpostgresql&port=5433&user=u&password=p']
  ],
  ['postgres://u:p%2F%23%3F%40%25@db/name', ['postgres://u:p%2F%23%3F%40%25@db/name']],
  ['postgres://db/name?options=-c%20search_path%3Dtenant', ['postgres://db/name?options=-c+search_path%3Dtenant']]
])('%s becomes %s for the driver', (url, expected) => {
  expect(postgresUrls(url)).toEqual(expected)
  expect(problemOfPostgresUrl(url)).toBeUndefined()
})

test.each([
  ['postgres://u:hush@one,,two/name', /host that is empty/],
  ['postgres://u:hush@one:5432,two:x/name', /not a URL/],
  ['mysql://u:hush@db/name', /must start with postgres:\/\//],
  ['postgres://u:hush@db/name?target_session_attrs=standby', /target_session_attrs must be/],
  ['postgres://u:hush@db/name?sslmode=always', /sslmode must be one of/],
  [
    'postgres://u:hush@db/name?sslrootcert=/nowhere/ca.pem',
    /sslrootcert names the file \/nowhere\/ca\.pem, which cannot be read/
  ],
  ['postgres://u:hush@db/name?sslmode=verify-full&sslmode=disable', /sslmode twice/],
  ['postgres://u:hush@db/name?SSLMODE=verify-full', /option SSLMODE, which is unknown/],
  ['postgres://u:hush@db/name?sslmod=verify-full', /option sslmod, which is unknown/],
  ['postgres://u:hush@db/name?__proto__=1', /option __proto__, which is unknown/],
  ['postgres://u:hush@db/name?toString=1', /option toString, which is unknown/],
  ['postgres://u:hush@db/name?ssl=no-verify', /ssl must be true/],
  ['postgres://u:hush@db/name?ssl=0', /ssl must be true/],
  ['postgres://u:hush@db/name?ssl=true&sslmode=disable', /ssl has no effect with sslmode=disable/],
  ['postgres://u:hush@db/name?sslmode=disable&sslrootcert=system', /sslrootcert has no effect with sslmode=disable/],
  ['postgres://u:hush@db/name?sslmode=no-verify&sslrootcert=system', /sslrootcert has no effect/],
  ['postgres://u:hush@db/name?sslmode=disable&sslnegotiation=direct', /sslnegotiation has no effect/],
  ['postgres://u:hush@db/name?sslcert=/dev/null', /sslcert and sslkey must be set together/],
  ['postgres://u:hush@db/name?uselibpqcompat=true&sslmode=require&sslrootcert=system', /needs sslmode=verify-full/],
  ['postgres://u:hush@db/name?uselibpqcompat=true&sslmode=verify-ca', /verify-ca needs sslrootcert/],
  ['postgres://u:hush@db/name?channel_binding=require', /channel_binding must be .*verify-full protects/],
  ['postgres://u:hush@db/name?gssencmode=require', /gssencmode must be/],
  ['postgres://u:hush@db/name?require_auth=scram-sha-256', /require_auth, which .*pg_hba\.conf/],
  ['postgres://u:hush@db/name?sslcrl=/dev/null', /option sslcrl/],
  ['postgres://u:hush@db/name?sslpassword=hush', /sslpassword.*without a passphrase/],
  ['postgres://u:hush@db/name?ssl_min_protocol_version=TLSv1.3', /option ssl_min_protocol_version/],
  ['postgres://u:hush@db/name?connect_timeout=10', /option connect_timeout/],
  ['postgres://u:hush@db/name?statement_timeout=0', /option statement_timeout/],
  ['postgres://u:hush@db/name?dbname=other', /dbname.*in the path/],
  ['postgres://u:hush@db/name?hostaddr=10.0.0.1', /hostaddr/],
  ['postgres://u:hush@db/name?host=other', /host must be the folder of a socket/],
  ['postgres://u:hush@db/name?host=/run', /names a host twice/],
  ['postgres://u:hush@db/name?port=1', /port after the host/],
  ['postgres://u:hush@db/name?password=hush', /user name or password twice/],
  ['postgres://u:hush@db/name?client_encoding=latin1', /client_encoding must be UTF8/],
  ['postgres://u:hush@db/name?options=-cDateStyle%3DSQL', /options must not contain datestyle/],
  ['postgres://u:hush@db/name?options=--lock-timeout%3D1', /options must not contain lock_timeout/],
  // Characters that end a password for a parser.
  ['postgres://u:hu#sh@db/name', /# as %23/],
  ['postgres://u:12#hush@db/name', /# as %23/],
  ['postgres://u:12/hush@db/name', /\/ as %2F/],
  ['postgres://u:12?hush@db/name', /\? as %3F/],
  ['postgres://u:a@12/hush@db/name?sslmode=require', /@ as %40/],
  ['postgres://u:hush%@db/name', /% as %25/],
  ['postgres://u:hush%e9@db/name', /% as %25/],
  ['postgres://u:hush hush@db/name', /a space as %20/],
  ['postgres://u:hush@db/name#hush', /# as %23/]
])('%s is refused, without its secrets in the message', (url, problem) => {
  expect(problemOfPostgresUrl(url)).toMatch(problem)
  expect(problemOfPostgresUrl(url)).not.toContain('hush')
})
