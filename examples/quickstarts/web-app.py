"""A web app: signs in with Valetkey and lists the user's files. Needs Authlib and requests."""
import os
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session, OAuthError

ISSUER, RESOURCE_URL, PORT = os.environ["ISSUER"], os.environ["RESOURCE_URL"], int(os.environ["PORT"])
BASE_URL = f"http://127.0.0.1:{PORT}"

def new_session():
    return OAuth2Session(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], scope="files.read",
                         redirect_uri=f"{BASE_URL}/callback", code_challenge_method="S256")


class App(BaseHTTPRequestHandler):
    def do_GET(self):
        _, _, path, query, _ = urlsplit(self.path)
        if path == "/sign-in":
            self.start_sign_in()
        elif path == "/callback":
            self.finish_sign_in(dict(parse_qsl(query)))
        else:
            self.reply(404, "Not found")

    def start_sign_in(self):
        verifier = generate_token(48)
        address, state = new_session().create_authorization_url(f"{ISSUER}/oauth/authorize", code_verifier=verifier)
        cookie = f"sign_in_{state}={verifier}; HttpOnly; SameSite=Lax; Path=/callback; Max-Age=600"
        self.reply(303, "", [("Location", address), ("Set-Cookie", cookie)])

    def finish_sign_in(self, query):
        # The cookie shows that this browser started the sign-in; iss, that the response is from Valetkey (RFC 9207).
        verifier = SimpleCookie(self.headers.get("Cookie", "")).get(f"sign_in_{query.get('state')}")
        if verifier is None or query.get("iss") != ISSUER or "code" not in query:
            return self.reply(400, f"Start again at /sign-in {query.get('error', '')}")
        try:
            session = new_session()
            session.fetch_token(f"{ISSUER}/token", code=query["code"], code_verifier=verifier.value, timeout=10)
            response = session.get(f"{RESOURCE_URL}/v1/files", timeout=10)
            response.raise_for_status()
        except (OAuthError, OSError) as error:
            return self.reply(502, f"Sign-in failed: {error}")
        self.reply(200, "".join(f"{file['name']}\n" for file in response.json()["files"]))

    def reply(self, status, text, headers=()):
        self.send_response(status)
        for header in [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"), *headers]:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        """Logs nothing, because the query has the code."""


print(f"Open {BASE_URL}/sign-in", flush=True)
ThreadingHTTPServer(("127.0.0.1", PORT), App).serve_forever()
