import { describe, expect, test } from '@jest/globals'
import { evaluateGate } from '../src/claim-gate.js'
import { type Claims, claimsAt, mergeClaims } from '../src/claims.js'

type Case = { name: string; claims: Claims; required: Record<string, string[]> }

describe('gate of a provider', () => {
  test.each<Case>([
    { name: 'no requirement', claims: {}, required: {} },
    { name: 'an equal text', claims: { hd: 'example.com' }, required: { hd: ['example.org', 'example.com'] } },
    { name: 'an array with one of the values', claims: { groups: ['a', 'staff'] }, required: { groups: ['staff'] } },
    { name: 'a boolean', claims: { email_verified: true }, required: { email_verified: ['true'] } },
    {
      name: 'roles of a realm (Keycloak)',
      claims: { realm_access: { roles: ['staff'] } },
      required: { 'realm_access.roles': ['staff'] }
    },
    {
      name: 'roles of a client whose id has dots (Keycloak)',
      claims: { resource_access: { 'app.example.com': { roles: ['staff'] } } },
      required: { 'resource_access.app.example.com.roles': ['staff'] }
    },
    {
      name: 'a claim whose name is a URL (Auth0)',
      claims: { 'https://app.example/roles': ['staff'] },
      required: { 'https://app.example/roles': ['staff'] }
    },
    {
      name: 'a member of a claim whose name is a URL',
      claims: { 'https://app.example/meta': { authorization: { roles: ['staff'] } } },
      required: { 'https://app.example/meta.authorization.roles': ['staff'] }
    },
    {
      name: 'roles as members of an object (Zitadel)',
      claims: { 'urn:zitadel:iam:org:project:roles': { staff: { '2398': 'example.com' } } },
      required: { 'urn:zitadel:iam:org:project:roles': ['staff'] }
    },
    { name: 'objects with a name (Casdoor)', claims: { roles: [{ name: 'staff' }] }, required: { roles: ['staff'] } },
    { name: 'objects with a value (SCIM)', claims: { roles: [{ value: 'staff' }] }, required: { roles: ['staff'] } },
    {
      name: 'a member of each element',
      claims: { groups: [{ id: 'a' }, { id: 'g1' }] },
      required: { 'groups.id': ['g1'] }
    },
    { name: 'a number', claims: { level: 3 }, required: { level: ['3'] } },
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
    {
      name: 'a role that another object has',
      claims: { realm_access: { roles: ['staff'] } },
      required: { 'resource_access.app.roles': ['staff'] }
    },
    { name: 'an inherited member of an object', claims: { a: {} }, required: { 'a.constructor.name': ['Object'] } },
    { name: 'the length of a list', claims: { groups: ['x'] }, required: { 'groups.length': ['1'] } },
    {
      name: 'an object without name and value',
      claims: { roles: [{ label: 'staff' }] },
      required: { roles: ['staff'] }
    },
    {
      name: 'a path where the whole name is another claim',
      claims: { 'a.b': ['x'], a: { b: ['staff'] } },
      required: { 'a.b': ['staff'] }
    },
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

test('claims of UserInfo complete those of the ID token, also within an object, and replace none', () => {
  const userInfo = { name: 'U', realm_access: { roles: ['staff'], level: 1 }, groups: ['a'] }
  const idToken = { sub: 's', realm_access: { level: 2 }, groups: ['b'] }
  expect(mergeClaims(userInfo, idToken)).toEqual({
    name: 'U',
    sub: 's',
    groups: ['b'],
    realm_access: { roles: ['staff'], level: 2 }
  })
})

test('a path into a deeply nested list finds nothing', () => {
  let nested: unknown = { b: 'x' }
  for (let depth = 0; depth < 50_000; depth += 1) nested = [nested]
  expect(claimsAt({ a: nested }, 'a.b')).toEqual([])
})
