// Ten mistakes that a change could make: each removes one condition of the authorization server. `file` is below
// services/authorization-server/, `src` or `dist`: the text is the same in both.

/** @typedef {{ name: string, file: string, condition: string, without: string }} SeededRace */

/** @type {readonly SeededRace[]} */
export const SEEDED_RACES = [
  {
    name: 'exchange',
    file: 'storage/postgres/exchanges',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
    condition: 'where ${AUTHORIZATION_GENERATION} = a.authorization_generation and remaining.scope is not null',
    without: 'where remaining.scope is not null'
  },
  {
    name: 'refresh',
    file: 'storage/postgres/refresh-tokens',
    condition: 'where t.token_hash = locked.token_hash and t.rotated_at is null',
    without: 'where t.token_hash = locked.token_hash'
  },
  {
    name: 'endings',
    file: 'storage/postgres/introspections',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
    condition: 'and (g.ends_at is null or t.expires_at <= g.ends_at)\n    and ${AUTHORIZED}`',
    without: 'and (g.ends_at is null or t.expires_at <= g.ends_at)`'
  },
  {
    name: 'replay',
    file: 'storage/postgres/exchanges',
    condition: 'where grants.redeemed_at is null and grants.ended_at is null',
    without: 'where grants.ended_at is null'
  },
  {
    name: 'give-back',
    file: 'protocol/token/redeem-code',
    condition: 'if (undelivered.length > 0)',
    without: 'if (undelivered.length > 1)'
  },
  {
    name: 'remembered consent',
    file: 'storage/postgres/consents',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
    condition: 'and c.generation = :clientGeneration\n    and ${AUTHORIZATION_GENERATION} = :authorizationGeneration',
    without: 'and c.generation = :clientGeneration and :authorizationGeneration::integer is not null'
  },
  {
    name: 'generations',
    file: 'storage/postgres/introspections',
    condition: 'join users u on u.user_id = g.user_id and u.generation = t.user_generation',
    without: 'join users u on u.user_id = g.user_id'
  },
  {
    name: 'feed order',
    file: 'feed/ordered-delivery',
    condition: 'if (!isDelivering)',
    without: 'if (true)'
  },
  {
    name: 'retry window',
    file: 'storage/postgres/refresh-tokens',
    condition: 'case when t.retry_until > now() then t.retry_response end as retry_response',
    without: 't.retry_response'
  },
  {
    name: 'two-stage endings',
    file: 'protocol/token/redeem-refresh-token',
    condition: "case 'end_grant':",
    without:
      "case 'end_grant': if (evaluation.reason === 'reused') throw refusal('invalid_grant', 'reused', client, grantId)"
  }
]

/**
 * @param {SeededRace} race
 * @param {string} source
 * @returns the source without the condition
 * @throws if the source does not have the condition exactly once
 */
export function withoutCondition({ name, file, condition, without }, source) {
  const parts = source.split(condition)
  if (parts.length !== 2)
    throw new Error(
      `seeded race "${name}": ${file} has its condition ${parts.length - 1} times. Adapt e2e/core-model/seeded-races.mjs.`
    )
  return parts.join(without)
}
