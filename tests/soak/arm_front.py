"""In the place of Azure Resource Manager, for clients that insist on its public address.

An HTTP proxy that lets its clients CONNECT to that address alone and answers there itself, with a certificate by an authority
that the client is told to trust. Who asks shows a token that the stand-in for Azure gave; what is of our provider goes to the
resource provider, with the headers that ARM adds, everything else to the stand-in.

Arguments: a JSON object {rp, arm, ca, ca_key, folder}: addresses of the resource provider and of the stand-in, the authority and its
key, a folder for what is made. Prints {"proxy": ADDRESS} when it listens; a line for each request goes to standard error.
"""

import base64
import datetime
import http.client
import json
import pathlib
import ssl
import sys
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PUBLIC = "management.azure.com"
OURS = "microsoft.redhatopenshift"
# Of one connection alone (RFC 9110 §7.6.1), or written anew by the sender.
OF_A_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length", "date", "server"}
MOST = 4 << 20
PATIENCE = 120


def leaf(told):
    """A certificate for the public address; the path of a PEM with its key."""
    folder = pathlib.Path(told["folder"])
    authority = x509.load_pem_x509_certificate(pathlib.Path(told["ca"]).read_bytes())
    signer = serialization.load_pem_private_key(pathlib.Path(told["ca_key"]).read_bytes(), None)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, PUBLIC)]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(PUBLIC)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "front.pem"
    file.write_bytes(built.public_bytes(form[0]) + key.private_bytes(*form))
    return file


def provider_of(path):
    """The namespace a request is for, in lower case: that behind the last `providers`; none: what is asked is about a provider."""
    words = [word for word in path.lower().split("/") if word]
    at = max((at for at, word in enumerate(words) if word == "providers"), default=len(words))
    return words[at + 1] if len(words) > at + 2 else ""


def claims_of(bearer):
    """What the token says of who asks: it was shown to its issuer first."""
    payload = bearer.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Arm(BaseHTTPRequestHandler):
    """Inside a tunnel: what clients ask of ARM."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        if length > MOST:
            return self.send_error(413)
        body = self.rfile.read(length)
        sent = {name: value for name, value in self.headers.items() if name.lower() not in OF_A_HOP}
        url = urllib.parse.urlsplit(self.path)
        if provider_of(url.path) == OURS:
            status, headers, content = self.to_provider(url, sent, body)
        else:
            # It takes doubled slashes as one; libraries write them where a part of a path is empty.
            path = "/" + "/".join(word for word in url.path.split("/") if word)
            status, headers, content = self.ask("arm", f"{path}?{url.query}", sent, body)
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in OF_A_HOP:
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_PATCH = do_POST = do_DELETE = answer

    def to_provider(self, url, sent, body):
        subscription = url.path.split("/")[2] if url.path.lower().startswith("/subscriptions/") else None
        known = f"/subscriptions/{subscription}" if subscription else "/subscriptions"
        token = sent.pop("Authorization", "")
        refused = self.ask("arm", f"{known}?api-version=2022-12-01", {"Authorization": token}, b"", "GET")
        if refused[0] != 200:
            return refused
        who = claims_of(token)
        # No caller tells these of itself.
        arms = ("x-ms-arm-", "x-ms-client-principal-", "x-ms-home-", "x-ms-identity-")
        sent = {name: value for name, value in sent.items() if not name.lower().startswith(arms)}
        sent["Referer"] = f"https://{PUBLIC}{self.path}"
        sent["X-Ms-Correlation-Request-Id"] = str(uuid.uuid4())
        sent["X-Ms-Home-Tenant-Id"] = sent["X-Ms-Client-Tenant-Id"] = who["tid"]
        sent["X-Ms-Client-Object-Id"], sent["X-Ms-Client-App-Id"] = who["oid"], who["appid"]
        if self.command in ("PUT", "PATCH"):
            now = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
            told = {"lastModifiedBy": who["appid"], "lastModifiedByType": "Application", "lastModifiedAt": now}
            if self.command == "PUT":
                told |= {"createdBy": who["appid"], "createdByType": "Application", "createdAt": now}
            sent["X-Ms-Arm-Resource-System-Data"] = json.dumps(told)
        return self.ask("rp", self.path, sent, body)

    def ask(self, whom, path, headers, body, method=None):
        """Status, headers and content of what `whom` answers."""
        there = urllib.parse.urlsplit(self.server.told[whom])
        connection = http.client.HTTPSConnection(there.hostname, there.port, timeout=PATIENCE, context=self.server.trust)
        try:
            connection.request(method or self.command, path, body or None, headers)
            response = connection.getresponse()
            content = response.read(MOST)
        finally:
            connection.close()
        print(f"{whom} {method or self.command} {path} {response.status}", file=sys.stderr, flush=True)
        return response.status, response.getheaders(), content

    def log_message(self, *_):
        pass


class Proxy(BaseHTTPRequestHandler):
    """In front of it: anyone who wants to go elsewhere stays here."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_CONNECT(self):
        if self.path != f"{PUBLIC}:443":
            print(f"refused {self.path}", file=sys.stderr, flush=True)
            return self.send_error(403)
        self.send_response(200)
        self.end_headers()
        with self.server.own.wrap_socket(self.connection, server_side=True) as tunnel:
            Arm(tunnel, self.client_address, self.server)
        self.close_connection = True

    def log_message(self, *_):
        pass


def main():
    told = json.loads(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    server.told = told
    server.trust = ssl.create_default_context(cafile=told["ca"])
    server.own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.own.load_cert_chain(leaf(told))
    print(json.dumps({"proxy": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    server.serve_forever()


main()
