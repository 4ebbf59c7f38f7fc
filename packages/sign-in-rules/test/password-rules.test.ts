import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { findPasswordProblem, type PasswordRules } from '../src/password-rules.js'

const rules: PasswordRules = {
  minLength: 15,
  names: ['alice', 'Valetkey', 'auth.example.com'],
  isCommon: (password) => ['password', 'correcthorsebatterystaple'].includes(password)
}

describe('a new password (NIST SP 800-63B-4 §3.1.1.2)', () => {
  test.each([
    { name: '15 characters', password: 'seven dry stone', problem: undefined },
    { name: '14 characters', password: 'seven dry ston', problem: 'too_short' },
    { name: '15 characters of two UTF-16 units', password: '🦊🐢🦉🐝🦋🐌🐞🐜🕷🦂🦟🦗🐍🦎🦖', problem: undefined },
    { name: '14 characters, 15 before NFC', password: 'seven dry sto\u0308n', problem: 'too_short' },
    { name: '1024 bytes', password: `${'wet stone '.repeat(102)}wall`, problem: undefined },
    { name: '1025 bytes', password: `${'wet stone '.repeat(102)}walls`, problem: 'too_long' },
    { name: 'a tab', password: 'seven dry\tstones', problem: 'not_typeable' },
    { name: 'lower-case letters only', password: 'sevendrystoneswalk', problem: undefined },
    { name: 'a common password', password: 'correcthorsebatterystaple', problem: 'common' },
    { name: 'a common password in capitals', password: 'CorrectHorseBatteryStaple', problem: 'common' },
    { name: 'one character', password: 'a'.repeat(20), problem: 'repeated' },
    { name: 'a repeated short unit', password: 'xk7xk7xk7xk7xk7x', problem: 'repeated' },
    { name: 'a repeated common password', password: 'passwordpassword', problem: 'repeated' },
    { name: 'a long unit, twice', password: 'wet stone wet stone ', problem: undefined },
    { name: 'digits in order', password: '123456789012345', problem: 'sequence' },
    { name: 'the alphabet backwards', password: 'ponmlkjihgfedcba', problem: 'sequence' },
    { name: 'rows of the keyboard', password: 'qwertyuiopasdfgh', problem: 'sequence' },
    { name: 'three sequences', password: 'abcdefgh12345qwerty', problem: 'sequence' },
    { name: 'the user name and a year', password: 'alice alice 2026', problem: 'contains_name' },
    { name: 'the product and the host', password: 'valetkey@auth.example.com', problem: 'contains_name' },
    { name: 'the user name in a sentence', password: 'alice walks on gravel', problem: undefined }
  ])('$name: $problem', ({ password, problem }) => {
    expect(findPasswordProblem(password, rules)).toBe(problem)
  })

  test('a short user name in other words is no reason to refuse', () => {
    expect(findPasswordProblem('bonnie bo bobbin', { ...rules, names: ['bo'] })).toBeUndefined()
  })

  test('both Unicode forms of a password have the same result', () => {
    const passwords = fc.string({ unit: 'grapheme', maxLength: 40 })
    const sameResult = (password: string) => {
      const [composed, decomposed] = [password.normalize('NFC'), password.normalize('NFD')]
      expect(findPasswordProblem(decomposed, rules)).toBe(findPasswordProblem(composed, rules))
    }
    fc.assert(fc.property(passwords, sameResult))
  })

  test('random passwords of 20 letters and digits are accepted', () => {
    const passwords = fc
      .string({ unit: fc.constantFrom(...'bdgjmpsvyBDGJ2579'), minLength: 20, maxLength: 60 })
      .filter((password) => new Set(password).size > 8)
    const accepted = (password: string) => expect(findPasswordProblem(password, rules)).toBeUndefined()
    fc.assert(fc.property(passwords, accepted))
  })
})
