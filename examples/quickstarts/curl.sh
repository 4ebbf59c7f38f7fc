#!/bin/sh
# Signs in with Valetkey, lists the user's files, refreshes and revokes. Needs curl, jq and openssl.
set -eu

redirect_uri="http://127.0.0.1:$PORT/callback"
state=$(openssl rand -hex 32)
verifier=$(openssl rand -hex 32)
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d '=')

echo "Open $ISSUER/oauth/authorize?response_type=code&client_id=$CLIENT_ID&redirect_uri=$redirect_uri\
&scope=files.read&state=$state&code_challenge=$challenge&code_challenge_method=S256"
echo 'Allow. The browser then cannot connect to 127.0.0.1. Within 20 seconds, paste its address here:'
read -r callback

parameter() { printf %s "${callback#*\?}" | tr '&' '\n' | sed -n "s/^$1=//p"; }
uri_encoded() { jq -rn --arg text "$1" '$text | @uri'; }
fail() { echo "$1" >&2; exit 1; }

# iss: the response comes from this authorization server (RFC 9207).
[ "$(parameter state)" = "$state" ] || fail 'The response belongs to another sign-in.'
[ "$(parameter iss)" = "$(uri_encoded "$ISSUER")" ] || fail 'The response comes from another server.'
code=$(parameter code)
[ -n "$code" ] || fail "Sign-in failed: $(parameter error)"

# Usage: post PATH FIELD=VALUE…
post() {
  path=$1; shift
  for field in "$@"; do set -- "$@" --data-urlencode "$field"; shift; done
  curl -sS --fail-with-body --user "$CLIENT_ID:$CLIENT_SECRET" "$ISSUER$path" "$@"
}
list_files() {
  curl -sS --fail-with-body --header "Authorization: Bearer $1" "$RESOURCE_URL/v1/files" | jq -r '.files[].name'
}

tokens=$(post /token grant_type=authorization_code code="$code" redirect_uri="$redirect_uri" code_verifier="$verifier") ||
  fail "$tokens"
list_files "$(echo "$tokens" | jq -r .access_token)"

# A refresh returns a new refresh token and invalidates the old one.
tokens=$(post /token grant_type=refresh_token refresh_token="$(echo "$tokens" | jq -r .refresh_token)") || fail "$tokens"
echo "Refreshed; the new access token is valid for $(echo "$tokens" | jq .expires_in) seconds."

# Revoking the refresh token ends the user's grant with all its tokens.
post /oauth/revoke token="$(echo "$tokens" | jq -r .refresh_token)" >/dev/null
echo 'Revoked.'
