import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ConfigurationError, type Environment, environmentReader } from '../../src/process/environment-reader.js'

type Reader = ReturnType<typeof environmentReader>

let directory: string

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-environment-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The value that is read, and the problems that `finish` reports. */
function read<Value>(environment: Environment, take: (reader: Reader) => Value) {
  const reader = environmentReader(environment)
  const value = take(reader)
  try {
    reader.finish()
    return { value, problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    expect(error.message).toBe(error.problems.join('\n'))
    return { value, problems: error.problems }
  }
}

function fileWith(content: string, encoding?: BufferEncoding): string {
  const file = path.join(directory, `${Math.random()}`)
  writeFileSync(file, content, encoding)
  return file
}

describe('a variable and its file', () => {
  const text = (environment: Environment) => read(environment, (reader) => reader.text('NAME', 'a name'))
  test.each([
    { file: 'from a file', value: 'from a file' },
    { file: 'with a line break\n', value: 'with a line break' },
    { file: 'from Windows\r\n', value: 'from Windows' },
    { file: '\uFEFFtwo of them\n\n', value: 'two of them\n' },
    { file: ' blanks are kept ', value: ' blanks are kept ' }
  ])('NAME_FILE gives the content without byte order mark and one trailing line break: $file', ({ file, value }) => {
    expect(text({ NAME_FILE: fileWith(file) })).toEqual({ value, problems: [] })
  })

  test('another encoding than UTF-8 is refused', () => {
    const { problems } = text({ NAME_FILE: fileWith('é', 'latin1') })
    expect(problems).toEqual([expect.stringMatching(/^NAME_FILE: .* is not UTF-8 but ISO-8859-1/)])
  })

  test('an empty variable counts as missing, so NAME_FILE may be set as well', () => {
    expect(text({ NAME: '', NAME_FILE: fileWith('x') })).toEqual({ value: 'x', problems: [] })
  })

  test.each([
    { name: 'neither is set', environment: {}, problem: /^NAME: is missing: a name$/ },
    { name: 'the variable is not UTF-8', environment: { NAME: '\ufffd' }, problem: /^NAME: is not UTF-8$/ },
    { name: 'the variable is empty', environment: { NAME: '' }, problem: /^NAME: is missing: a name$/ },
    {
      name: 'the file does not exist',
      environment: { NAME_FILE: '/nowhere' },
      problem: /^NAME_FILE: .*cannot be read$/
    }
  ])('one problem when $name', ({ environment, problem }) => {
    expect(text(environment).problems).toEqual([expect.stringMatching(problem)])
  })

  test('one problem when the file is empty or has only a line break', () => {
    for (const content of ['', '\n'])
      expect(text({ NAME_FILE: fileWith(content) }).problems).toEqual([
        expect.stringMatching(/^NAME_FILE: .*is empty$/)
      ])
  })

  test('one problem, without the values, when both are set', () => {
    const { problems } = text({ NAME: 'secret-a', NAME_FILE: fileWith('secret-b') })
    expect(problems).toEqual(['NAME: is set twice, as NAME and as NAME_FILE'])
  })
})

describe('numbers', () => {
  const seconds = (value: string) => read({ N: value }, (reader) => reader.integer('N', 20, { min: 1, max: 29 }))

  test.each(['1', '29', '07'])('a whole number within its bounds is accepted: %s', (value) => {
    expect(seconds(value)).toEqual({ value: Number(value), problems: [] })
  })

  test.each(['0', '30', '-1', '1.5', '1e1', '0x10', ' 5', '5s', '٥', '9999999999999999'])(
    'refused, with the bounds: %s',
    (value) => {
      expect(seconds(value).problems).toEqual(['N: must be a whole number from 1 to 29'])
    }
  )

  test.each(['1', '0.5', '100', '2.25'])('a factor is accepted: %s', (value) => {
    expect(read({ F: value }, (reader) => reader.factor('F', 1))).toEqual({ value: Number(value), problems: [] })
  })

  test.each(['0', '0.0', '-1', '1e3', '.5', '1,5', 'Infinity', 'NaN'])('a factor is refused: %s', (value) => {
    expect(read({ F: value }, (reader) => reader.factor('F', 1)).problems).toEqual([expect.stringMatching(/^F: /)])
  })
})

describe('a base URL', () => {
  const base = (value: string) => read({ U: value }, (reader) => reader.baseUrl('U', 'a URL'))

  test.each(['https://auth.example', 'http://localhost:4000', 'https://example/auth', 'http://[::1]:4000'])(
    'is kept byte for byte: %s',
    (value) => expect(base(value)).toEqual({ value, problems: [] })
  )

  test.each([
    'https://auth.example/',
    'https://auth.example/a/',
    'https://auth.example?x=1',
    'https://auth.example?',
    'https://auth.example#f',
    'https://auth.example#',
    'https://user@auth.example',
    'https://:word@auth.example',
    'https://AUTH.example',
    'HTTPS://auth.example',
    'https://auth.example:443',
    'https://auth.example/a/../b',
    'https://auth.example/a%20b',
    'https://auth.example/realm:x',
    'https://auth.example/a*b',
    'https://auth.example/a;b',
    'https://bücher.example',
    'https:auth.example',
    'auth.example',
    '//auth.example',
    'ftp://auth.example',
    ' https://auth.example'
  ])('is refused in one line: %s', (value) => {
    expect(base(value).problems).toEqual([expect.stringMatching(/^U: /)])
  })

  test('the password in it is not quoted', () => {
    expect(base('https://user:hush@auth.example').problems.join()).not.toContain('hush')
  })
})

describe('a URL of a store', () => {
  const url = (value: string) => read({ U: value }, (reader) => reader.url('U', ['redis:', 'rediss:'], 'a server'))

  test.each(['redis://cache:6379', 'rediss://:word@cache', 'REDIS://cache'])('is accepted: %s', (value) => {
    expect(url(value)).toEqual({ value, problems: [] })
  })

  test.each(['http://x:hush@cache', 'redis:hush', 'cache:hush', 'hush'])('is refused unquoted: %s', (value) => {
    const { problems } = url(value)
    expect(problems).toEqual([expect.stringMatching(/^U: .*redis:\/\/ or rediss:\/\//)])
    expect(problems.join()).not.toContain('hush')
  })
})

describe('an address to listen on', () => {
  test.each([
    { given: ':4000', host: '0.0.0.0', port: 4000 },
    { given: '127.0.0.1:0', host: '127.0.0.1', port: 0 },
    { given: '[::1]:4000', host: '::1', port: 4000 },
    { given: 'auth.internal:65535', host: 'auth.internal', port: 65535 }
  ])('$given', ({ given, host, port }) => {
    expect(read({ L: given }, (reader) => reader.listen('L', ':1'))).toEqual({ value: { host, port }, problems: [] })
  })

  test.each(['4000', 'host', 'host:', ':65536', '::1:4000', 'host:4000/path', 'http://host:4000', ':-1'])(
    'refused: %s',
    (given) => {
      expect(read({ L: given }, (reader) => reader.listen('L', ':1')).problems).toEqual([
        expect.stringMatching(/^L: must be host:port/)
      ])
    }
  )
})

describe('lists', () => {
  const networks = (value: string) => read({ P: value }, (reader) => reader.networks('P'))
  const keys = (value: string) => read({ K: value }, (reader) => reader.keys('K', 'keys'))

  test('addresses and networks are separated by commas or white space', () => {
    const value = ['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.7']
    expect(networks(' 10.0.0.0/8,::1\nfd00::/8 , 192.0.2.7')).toEqual({ value, problems: [] })
  })

  test('a missing variable is undefined, and `none` is an empty list', () => {
    expect(networks('')).toEqual({ value: undefined, problems: [] })
    expect(networks(', ')).toEqual({ value: undefined, problems: [] })
    expect(networks('none')).toEqual({ value: [], problems: [] })
    expect(networks('none, 10.0.0.1').problems).toEqual([expect.stringContaining('"none"')])
  })

  test('an IPv4 address may be written as IPv6, but not an IPv4 network', () => {
    expect(networks('::ffff:10.0.0.1')).toEqual({ value: ['::ffff:10.0.0.1'], problems: [] })
    expect(networks('::ffff:0:0/96').problems).toHaveLength(1)
    expect(networks('::ffff:10.0.0.0/8').problems).toHaveLength(1)
  })

  test.each([
    '10.0.0.0/33',
    '::1/129',
    '10.0.0',
    'proxy.internal',
    '10.0.0.1/',
    '/8',
    'loopback',
    '10.0.0.0/-1',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/08',
    'fe80::1%eth0',
    '*'
  ])('neither an address nor a network, refused: %s', (wrong) =>
    expect(networks(`10.0.0.1, ${wrong}`).problems).toEqual([expect.stringContaining(JSON.stringify(wrong))])
  )

  test('keys keep their order', () => {
    const [newest, oldest] = ['n'.repeat(32), 'o'.repeat(40)]
    expect(keys(`${newest}, ${oldest}`)).toEqual({ value: [newest, oldest], problems: [] })
  })

  test.each([
    { name: 'one is too short', value: `${'k'.repeat(32)},${'s'.repeat(31)}` },
    { name: 'there are only separators', value: ' , ' },
    { name: 'the value is empty', value: '' }
  ])('keys are refused, and not quoted, when $name', ({ value }) => {
    const { problems } = keys(value)
    expect(problems).toEqual([expect.stringMatching(/^K: /)])
    expect(problems.join()).not.toMatch(/kkk|sss/)
  })

  test('one of several words', () => {
    const oneOf = (value: string) => read({ O: value }, (reader) => reader.oneOf('O', ['info', 'debug'], 'info'))
    expect([oneOf('debug').value, oneOf('').value]).toEqual(['debug', 'info'])
    expect(oneOf('DEBUG').problems).toEqual(['O: must be one of info, debug'])
  })
})

test('all problems are reported together, in the order of the calls', () => {
  const { problems } = read({ B: 'x' }, (reader) => {
    reader.text('A', 'one')
    reader.integer('B', 1, { min: 1, max: 2 })
    reader.require(false, 'C', 'needs A')
    reader.require(true, 'D', 'never said')
  })
  expect(problems.map((line) => line.split(':')[0])).toEqual(['A', 'B', 'C'])
})
