/**
 * What the user of a grant has chosen at the API; null unless what is left of the scope has one that selects. Needs the join
 * `remainingScope`. Reads nothing more for a grant without choice.
 * @param grant alias of the grant
 */
export const chosenOf = (grant: string) => `case when ${grant}.authorization_details is not null and exists (
    select 1 from scopes chosen where chosen.selects and chosen.name = any (remaining.scope)) then ${grant}.authorization_details end`
