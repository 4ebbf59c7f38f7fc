-- What an operator key may do: only GET, or only end the sessions and tokens of users. Null: everything.
alter table operator_keys add column purpose text check (purpose in ('read', 'revoke-users'));
