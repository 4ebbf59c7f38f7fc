import { describe, expect, test } from '@jest/globals'
import { type Claims, evaluateGate } from '../src/claim-gate.js'

type Case = { name: string; claims: Claims; required: Record<string, string[]> }

describe('gate of a provider', () => {
  test.each<Case>([
    { name: 'no requirement', claims: {}, required: {} },
    { name: 'an equal text', claims: { hd: 'example.com' }, required: { hd: ['example.org', 'example.com'] } },
    { name: 'an array with one of the values', claims: { groups: ['a', 'staff'] }, required: { groups: ['staff'] } },
    { name: 'a boolean', claims: { email_verified: true }, required: { email_verified: ['true'] } },
    { name: 'several claims that fit', claims: { tid: 't', groups: ['g'] }, required: { tid: ['t'], groups: ['g'] } }
  ])('admits $name', ({ claims, required }) => {
    expect(evaluateGate(claims, required)).toEqual({ kind: 'passed' })
  })

  test.each<Case>([
    { name: 'a missing claim', claims: { email: 'alice@example.com' }, required: { hd: ['example.com'] } },
    { name: 'another text', claims: { hd: 'example.com.evil.example' }, required: { hd: ['example.com'] } },
    { name: 'a text that contains the value', claims: { groups: 'staff other' }, required: { groups: ['staff'] } },
    { name: 'a value in other case', claims: { groups: ['Staff'] }, required: { groups: ['staff'] } },
    { name: 'an empty array', claims: { groups: [] }, required: { groups: ['staff'] } },
    { name: 'an array in an array', claims: { groups: [['staff']] }, required: { groups: ['staff'] } },
    { name: 'an object', claims: { groups: { staff: true } }, required: { groups: ['staff'] } },
    { name: 'an inherited member', claims: {}, required: { constructor: ['function Object() { [native code] }'] } },
    { name: 'a prototype', claims: JSON.parse('{"__proto__":{"hd":"a.example"}}'), required: { hd: ['a.example'] } },
    { name: 'one of two claims', claims: { tid: 't', groups: ['x'] }, required: { tid: ['t'], groups: ['g'] } }
  ])('refuses $name', ({ claims, required }) => {
    expect(evaluateGate(claims, required)).toMatchObject({ kind: 'refused', reason: 'claim_refused' })
  })

  test.each<Omit<Case, 'required'>>([
    { name: '_claim_names', claims: { _claim_names: { groups: 'src1' } } },
    { name: 'hasgroups', claims: { hasgroups: true } }
  ])('refuses groups that Entra replaced by a link ($name), with that reason', ({ claims }) => {
    const outcome = { kind: 'refused', reason: 'groups_overage', claim: 'groups' }
    expect(evaluateGate(claims, { groups: ['staff'] })).toEqual(outcome)
  })
})
