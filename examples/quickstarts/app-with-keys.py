"""An app with a key instead of a secret (RFC 7523), whose tokens work only with another key (DPoP, RFC 9449): signs in with
Valetkey and prints the list of files. Needs cryptography and requests."""
import base64, hashlib, json, os, secrets, time
from urllib.parse import parse_qsl, urlencode, urlsplit

import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

ISSUER, RESOURCE_URL, CLIENT_ID = os.environ["ISSUER"], os.environ["RESOURCE_URL"], os.environ["CLIENT_ID"]
with open(os.environ["CLIENT_KEY_FILE"], "rb") as file:
    CLIENT_KEY = serialization.load_pem_private_key(file.read(), None)
DPOP_KEY = ec.generate_private_key(ec.SECP256R1())

def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

def sha256(text):
    return encode(hashlib.sha256(text.encode()).digest())

def sign(key, header, claims):
    """A JWT with ES256; the signature is r and s, 32 bytes each."""
    parts = [{"alg": "ES256", **header}, {"jti": secrets.token_urlsafe(), "iat": int(time.time()), **claims}]
    text = ".".join(encode(json.dumps(part).encode()) for part in parts)
    numbers = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encode(b''.join(number.to_bytes(32, 'big') for number in numbers))}"

def assertion():
    claims = {"iss": CLIENT_ID, "sub": CLIENT_ID, "aud": ISSUER, "exp": int(time.time()) + 60}
    return sign(CLIENT_KEY, {"typ": "client-authentication+jwt"}, claims)

def proof(method, url, **claims):
    point = DPOP_KEY.public_key().public_numbers()
    x, y = (encode(number.to_bytes(32, "big")) for number in (point.x, point.y))
    jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}
    return sign(DPOP_KEY, {"typ": "dpop+jwt", "jwk": jwk}, {"htm": method, "htu": url, **claims})

verifier, state, redirect_uri = secrets.token_urlsafe(48), secrets.token_urlsafe(), f"http://127.0.0.1:{os.environ['PORT']}/callback"
print(f"Open {ISSUER}/oauth/authorize?" + urlencode({
    "response_type": "code", "client_id": CLIENT_ID, "redirect_uri": redirect_uri, "scope": "files.read", "state": state,
    "code_challenge": sha256(verifier), "code_challenge_method": "S256"}), flush=True)
answer = dict(parse_qsl(urlsplit(input("Nothing listens there. Paste the address that the browser then shows: ")).query))
# iss: the response comes from this authorization server (RFC 9207).
if answer.get("state") != state or answer.get("iss") != ISSUER or "code" not in answer:
    raise SystemExit(f"Sign-in failed: {answer.get('error', 'another response')}")

form = {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": redirect_uri, "code_verifier": verifier,
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": assertion()}
response = requests.post(f"{ISSUER}/token", form, headers={"DPoP": proof("POST", f"{ISSUER}/token")}, timeout=10)
response.raise_for_status()
token, url = response.json()["access_token"], f"{RESOURCE_URL}/v1/files"
headers = {"Authorization": f"DPoP {token}", "DPoP": proof("GET", url, ath=sha256(token))}
response = requests.get(url, headers=headers, timeout=10)
response.raise_for_status()
print("\n".join(file["name"] for file in response.json()["files"]))
