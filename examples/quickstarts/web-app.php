<?php
// A web app: signs in with Valetkey and lists the user's files. Needs the extension curl.
[$issuer, $redirectUri] = [getenv('ISSUER'), 'http://127.0.0.1:' . getenv('PORT') . '/callback'];

function fetchJson(string $url, array $options): array
{
    $curl = curl_init($url);
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10]);
    $body = json_decode((string) curl_exec($curl), true) ?? [];
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    if ($status !== 200) {
        throw new RuntimeException('Sign-in failed: ' . ($body['error'] ?? $status));
    }
    return $body;
}

function startSignIn(string $issuer, string $redirectUri): void
{
    [$state, $verifier] = [bin2hex(random_bytes(32)), bin2hex(random_bytes(32))];
    setcookie("sign_in_$state", $verifier, [
        'expires' => time() + 600, 'path' => '/callback', 'httponly' => true, 'samesite' => 'Lax',
    ]);
    $challenge = rtrim(strtr(base64_encode(hash('sha256', $verifier, true)), '+/', '-_'), '=');
    header("Location: $issuer/oauth/authorize?" . http_build_query([
        'response_type' => 'code', 'client_id' => getenv('CLIENT_ID'), 'redirect_uri' => $redirectUri,
        'scope' => 'files.read', 'state' => $state, 'code_challenge' => $challenge, 'code_challenge_method' => 'S256',
    ]), true, 303);
}

function finishSignIn(string $issuer, string $redirectUri): string
{
    // The cookie shows that this browser started the sign-in; iss, that the response is from Valetkey (RFC 9207).
    $verifier = $_COOKIE['sign_in_' . ($_GET['state'] ?? '')] ?? null;
    if ($verifier === null || ($_GET['iss'] ?? '') !== $issuer || !isset($_GET['code'])) {
        http_response_code(400);
        return 'Start again at /sign-in ' . ($_GET['error'] ?? '');
    }
    $tokens = fetchJson("$issuer/token", [
        CURLOPT_USERPWD => getenv('CLIENT_ID') . ':' . getenv('CLIENT_SECRET'),
        CURLOPT_POSTFIELDS => http_build_query([
            'grant_type' => 'authorization_code', 'code' => $_GET['code'],
            'redirect_uri' => $redirectUri, 'code_verifier' => $verifier,
        ]),
    ]);
    $authorization = "Authorization: Bearer {$tokens['access_token']}";
    $list = fetchJson(getenv('RESOURCE_URL') . '/v1/files', [CURLOPT_HTTPHEADER => [$authorization]]);
    return implode("\n", array_column($list['files'], 'name'));
}

header('Content-Type: text/plain; charset=utf-8');
try {
    match (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        '/sign-in' => startSignIn($issuer, $redirectUri),
        '/callback' => print(finishSignIn($issuer, $redirectUri)),
        default => http_response_code(404),
    };
} catch (RuntimeException $error) {
    http_response_code(502);
    echo $error->getMessage();
}
