<?php
// Guards GET /reports with OAuth 2.0 access tokens, by introspection (RFC 7662). See docs/guarding.md.
const SCOPE = 'reports.read';
define('ISSUER', getenv('ISSUER'));
define('RESOURCE', getenv('RESOURCE'));
function introspect(string $token): ?array
{
    $curl = curl_init(getenv('INTROSPECTION_URL'));
    curl_setopt_array($curl, [
        CURLOPT_USERPWD => getenv('INTROSPECTION_CLIENT_ID') . ':' . getenv('INTROSPECTION_CLIENT_SECRET'),
        CURLOPT_POSTFIELDS => http_build_query(['token' => $token]),
        CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 2, CURLOPT_FOLLOWLOCATION => false, // Would pass the token on.
    ]);
    $result = json_decode((string) curl_exec($curl), true);
    return curl_getinfo($curl, CURLINFO_RESPONSE_CODE) === 200 && is_bool($result['active'] ?? null) ? $result : null;
}

function isValid(array $token): bool
{
    return $token['active'] && in_array(RESOURCE, (array) ($token['aud'] ?? []), true)
        && ($token['iss'] ?? ISSUER) === ISSUER && (int) ($token['exp'] ?? PHP_INT_MAX) > time()
        && strtolower($token['token_type'] ?? 'Bearer') === 'bearer' && !isset($token['cnf']) && !isset($token['authorization_details']);
}

function check(string $authorization, string $query): array // The status, and the error code or the user.
{
    $isTwice = preg_match('/^bearer\b.*,|,\s*bearer\b/i', $authorization); // PHP joins two headers with a comma.
    if ($isTwice || preg_grep('/^access_token=./s', array_map('urldecode', explode('&', $query)))) {
        return [400, 'invalid_request'];
    }
    if (!preg_match('~^bearer(?: +([a-z0-9._\~+/-]+=*)|[ \t=].*|)$~i', trim($authorization), $credentials)) {
        return [401, null];
    }
    $token = isset($credentials[1]) ? introspect($credentials[1]) : ['active' => false];
    return match (true) {
        $token === null => [503, null], // Nothing is known about the token, so not 401.
        !isValid($token) => [401, 'invalid_token'],
        !in_array(SCOPE, explode(' ', $token['scope'] ?? ''), true) => [403, 'insufficient_scope'],
        default => [200, $token['sub'] ?? null],
    };
}

$apiPath = parse_url(RESOURCE, PHP_URL_PATH) ?? '';
$metadataPath = '/.well-known/oauth-protected-resource' . ($apiPath === '/' ? '' : $apiPath);
$metadata = substr(RESOURCE, 0, strlen(RESOURCE) - strlen($apiPath)) . $metadataPath;
$challenge = 'Bearer realm="' . parse_url(RESOURCE, PHP_URL_HOST) . '", scope="' . SCOPE . "\", resource_metadata=\"$metadata\"";
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
header('Content-Type: application/json');
if ($path === $metadataPath) {
    exit(json_encode(['resource' => RESOURCE, 'authorization_servers' => [ISSUER], 'scopes_supported' => [SCOPE]]));
}
[$status, $result] = $path !== '/reports' ? [404, null]
    : check($_SERVER['HTTP_AUTHORIZATION'] ?? '', $_SERVER['QUERY_STRING'] ?? '');
match ($status) {
    200 => print(json_encode(['owner' => $result, 'reports' => ['October', 'November']])),
    404 => null,
    503 => header('Retry-After: 2'),
    default => header("WWW-Authenticate: $challenge" . ($result === null ? '' : ", error=\"$result\"")),
};
http_response_code($status); // Last, because PHP sends 401 with every WWW-Authenticate.
