"""Guards GET /reports with OAuth 2.0 access tokens, by introspection (RFC 7662). See docs/guarding.md."""
import base64, http.client, json, math, os, re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

ISSUER, RESOURCE, SCOPE = os.environ["ISSUER"], os.environ["RESOURCE"], "reports.read"
API = urlsplit(RESOURCE)
METADATA = {"resource": RESOURCE, "authorization_servers": [ISSUER], "scopes_supported": [SCOPE]}
METADATA_PATH = "/.well-known/oauth-protected-resource" + ("" if API.path == "/" else API.path)
CHALLENGE = f'Bearer realm="{API.netloc}", scope="{SCOPE}", resource_metadata="{API.scheme}://{API.netloc}{METADATA_PATH}"'
BEARER = re.compile(r"bearer(?: +([a-z0-9._~+/-]+=*)|[ \t=].*|)", re.I | re.A)  # Group 1: the token, if well-formed.
CREDENTIAL = f"{os.environ['INTROSPECTION_CLIENT_ID']}:{os.environ['INTROSPECTION_CLIENT_SECRET']}".encode()
OPENER = build_opener(type("NoRedirect", (HTTPRedirectHandler,), {"redirect_request": lambda *_: None}))
OPENER.addheaders = [("Authorization", f"Basic {base64.b64encode(CREDENTIAL).decode()}")]

def is_valid(token):
    if not isinstance(token["active"], bool):
        raise TypeError("active is no boolean")
    return (token["active"] and RESOURCE in (aud if isinstance(aud := token.get("aud"), list) else [aud])
            and token.get("iss", ISSUER) == ISSUER and token.get("exp", math.inf) > time.time()
            and token.get("token_type", "Bearer").lower() == "bearer" and not {"cnf", "authorization_details"} & token.keys())

def check(authorization, query):  # Returns the status, and the body or the error code.
    if len(authorization) > 1 or any(name == "access_token" for name, _ in parse_qsl(query)):
        return 400, "invalid_request"
    credentials = BEARER.fullmatch(authorization[0].strip()) if authorization else None
    if credentials is None or credentials[1] is None:
        return 401, credentials and "invalid_token"
    try:
        form = urlencode({"token": credentials[1]}).encode()
        with OPENER.open(os.environ["INTROSPECTION_URL"], form, timeout=2) as response:
            token = json.load(response)
        if not is_valid(token):
            return 401, "invalid_token"
        if SCOPE not in token.get("scope", "").split():
            return 403, "insufficient_scope"
        return 200, {"owner": token.get("sub"), "reports": ["October", "November"]}
    except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError, AttributeError) as problem:
        print("Introspection failed:", problem, file=sys.stderr)
        return 503, "temporarily_unavailable"

class Api(BaseHTTPRequestHandler):
    log_request = lambda *_: None  # A query may have a token.
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path not in ("/reports", METADATA_PATH):
            return self.send_error(404)
        authorization = self.headers.get_all("Authorization", [])
        status, result = check(authorization, query) if path == "/reports" else (200, METADATA)
        self.send_response(status)
        if status != 200:
            challenge = ("WWW-Authenticate", CHALLENGE + (f', error="{result}"' if result else ""))
            self.send_header(*("Retry-After", "2") if status == 503 else challenge)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        body = json.dumps(result if status == 200 else {"error": result}).encode()
        self.wfile.write(b"" if self.command == "HEAD" else body)
    do_HEAD = do_POST = do_GET
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
