"""Requests to `tidemark view` by a process that was not told the address, and by one that was."""

import atexit
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

TOOL, WORK = sys.argv[1], sys.argv[2]
SLOWDOWN = int(os.environ.get("TEST_SLOWDOWN", "1"))
PATIENCE = 20 * SLOWDOWN  # seconds: against a hang only
SECRET = "# a program of mine"

shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(os.path.join(WORK, "bin"))
PROGRAM = os.path.join(WORK, "mine.tide")
with open(PROGRAM, "w") as file:
    file.write(SECRET + "\ndevice c cpu\nqueue q on c\nbuffer b 8\nq: fill b\n")


class Server:
    def __init__(self, *words, environment=None, descriptors=None):
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        self.process = subprocess.Popen([TOOL, "view", *words, PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment, preexec_fn=limit)
        atexit.register(self.process.kill)
        self.address = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", self.address)
        self.port, self.path = int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send(self, raw):
        """All that is answered; None: no end came."""
        answer = b""
        with self.connect() as s:
            try:
                s.sendall(raw)
                while part := s.recv(65536):
                    answer += part
            except socket.timeout:
                return None
            except ConnectionError:
                pass
        return answer

    def ask(self, path=None, host=None, method="GET", more=""):
        hosts = [self.host] if host is None else host if isinstance(host, list) else [host]
        lines = [f"{method} {self.path if path is None else path} HTTP/1.1"] + [f"Host: {h}" for h in hosts]
        raw = "\r\n".join(lines) + "\r\nConnection: close\r\n" + more + "\r\n"
        answer = self.send(raw.encode("latin-1"))
        found = re.match(rb"HTTP/1\.[01] (\d+)", answer or b"")
        return int(found[1]) if found else 0, answer or b""

    def end(self):
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=3 * PATIENCE)
        return self.process.returncode, err


def drip_on(connection):
    """Sends a byte of a header now and then, for as long as somebody takes it."""
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        while True:
            connection.sendall(b"a")
            time.sleep(.2)
    except OSError:
        pass


def case(name, problems):
    print(f"FAIL {name}: {'; '.join(problems)[:400]}" if problems else f"PASS {name}", flush=True)


server = Server("--no-open")
token = server.path.strip("/")
problems = [] if re.fullmatch(r"[0-9a-f]{32}", token) else [f"{server.address} has no 128 bits"]
status, answer = server.ask()
if status != 200 or SECRET.encode() not in answer:
    problems.append(f"the address gives {status}, {len(answer)} bytes")
head = answer.split(b"\r\n\r\n")[0].decode().lower()
for header in ["Referrer-Policy: no-referrer", "Cache-Control: no-store", "Cross-Origin-Resource-Policy: same-origin",
               "X-Content-Type-Options: nosniff"]:
    if header.lower() not in head:
        problems.append(f"no '{header}'")
status, answer = server.ask(method="HEAD")
if status != 200 or len(answer) > 2000:
    problems.append(f"HEAD gives {status}, {len(answer)} bytes")
case("the_address_gives_the_page", problems)

# On 127.0.0.1 alone: a server of all addresses has this one, too.
problems = []
try:
    socket.create_connection(("127.0.0.2", server.port), timeout=PATIENCE).close()
    problems.append(f"127.0.0.2:{server.port} is served")
except ConnectionRefusedError:
    pass
case("no_other_address_is_served", problems)

problems = []
other = ("0" if token[0] != "0" else "1") + token[1:]
for path in ["/", "//", "/index.html", f"/{other}/", f"/{token[:-1]}/", f"/{token}0/", f"/{token}", f"/{token}//",
             f"/{token}/x", f"/{token.upper()}x/", f"/?{token}", f"/#{token}", "/../../etc/passwd",
             "/%2e%2e/%2e%2e/etc/passwd", f"/{token}/../../etc/passwd", f"http://{server.host}/", "http://evil.example/",
             "/" + "a" * 8000, "/\x80"]:
    status, answer = server.ask(path)
    if not 400 <= status < 500 or SECRET.encode() in answer or b"<html" in answer.lower():
        problems.append(f"{path[:50]!r} gives {status}, {len(answer)} bytes")
case("no_other_path_gives_anything", problems)

problems = []
for host in ["evil.example", "127.0.0.1", "localhost", f"127.0.0.1.evil.example:{server.port}", f"localhost.:{server.port}",
             f"localhost.evil.example:{server.port}", f"127.0.0.1:{server.port}@evil.example", "localhost:@evil.example",
             f"localhost:{server.port + 1}", f"[::1]:{server.port}", "", [server.host, "evil.example"],
             ["evil.example", server.host], []]:
    status, answer = server.ask(host=host)
    if status not in (400, 403) or SECRET.encode() in answer:
        problems.append(f"{host!r} gives {status}")
for host in [f"localhost:{server.port}", f"LocalHost:{server.port}"]:
    if server.ask(host=host)[0] != 200:
        problems.append(f"{host!r} is refused")
case("a_strange_host_gives_nothing", problems)

problems = []
for name, raw in {
        "post": f"POST {server.path} HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "chunks": f"POST {server.path} HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "negative": f"POST {server.path} HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: -1\r\n\r\n",
        "huge": f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "smuggled": f"POST / HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"
                    f"GET / HTTP/1.1\r\nHost: {server.host}\r\n\r\n",
        "long header": f"GET / HTTP/1.1\r\nHost: {server.host}\r\nX: {'a' * 200000}\r\n\r\n",
        "many headers": f"GET / HTTP/1.1\r\nHost: {server.host}\r\n" + "".join(f"X{i}: a\r\n" for i in range(20000)) + "\r\n",
        "http/0.9": "GET /\r\n", "http/1.0": "GET / HTTP/1.0\r\n\r\n", "http/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "null": f"GET /\0 HTTP/1.1\r\nHost: {server.host}\r\n\r\n", "nonsense": "\x00\xff\x01" * 2000 + "\r\n\r\n"}.items():
    with server.connect() as s:
        s.settimeout(0.2)  # what does not answer is left alone
        answer = b""
        try:
            s.sendall(raw.encode("latin-1"))
            while part := s.recv(65536):
                answer += part
        except OSError:
            pass
    if SECRET.encode() in answer or b" 200 " in answer[:20]:
        problems.append(f"{name}: {answer[:40]!r}")
    if server.ask()[0] != 200:
        problems.append(f"after {name} nothing is served")
case("odd_requests_give_nothing", problems)

# Forty that drip, and hundreds that say nothing: the user's browser gets the page beside them.
problems = []
drips = [server.connect() for _ in range(40)]
for round_ in range(20):
    for s in drips:
        try:
            s.sendall(b"GET / HTTP/1.1\r\n" if round_ == 0 else b"X: a\r\n")
        except OSError:
            pass
    if server.ask()[0] != 200:
        problems.append(f"round {round_}: nothing is served")
case("dripping_connections_lock_nobody_out", problems)

def ask_again(s):
    """The status of one more answer on a connection that stays."""
    s.sendall(f"HEAD {server.path} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer and (part := s.recv(65536)):
        answer += part
    return answer[9:12].decode()


problems = []
silent = []
user = server.connect()
if ask_again(user) != "200":
    problems.append("a connection that stays gets nothing")
for i in range(400):
    s = server.connect()
    s.setblocking(False)
    silent.append(s)
    if i % 40 == 39 and server.ask()[0] != 200:
        problems.append(f"beside {i + 1} connections nothing is served")


def is_open(s):
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


end = time.monotonic() + PATIENCE
while (count := sum(map(is_open, silent))) > 128 and time.monotonic() < end:
    time.sleep(0.05)
if count > 128 or not is_open(silent[-1]):
    problems.append(f"{count} of 400 are still open, the newest: {is_open(silent[-1])}")
try:
    if ask_again(user) != "200":
        problems.append("a connection that has named the address is ended by others")
except OSError as error:
    problems.append(f"a connection that has named the address is ended by others: {error}")
user.close()
descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
if descriptors > 200:
    problems.append(f"{descriptors} descriptors")
case("strangers_are_bounded", problems)

status, err = server.end()  # with all of them connected
case("ends_with_strangers_connected", [f"exit status {status}, {err[-200:]!r}"] if status or err else [])
for s in drips + silent:
    s.close()

# With few descriptors there are fewer strangers, and an end all the same.
poor = Server("--no-open", descriptors=64)
silent = [poor.connect() for _ in range(100)]
problems = [] if poor.ask()[0] == 200 else ["beside 100 connections nothing is served"]
# One of them is never idle: a server that waited for its connections would not end at all.
threading.Thread(target=drip_on, args=(silent[-1],), daemon=True).start()
try:
    status, err = poor.end()
    if status or err:
        problems.append(f"exit status {status}, {err[-200:]!r}")
except subprocess.TimeoutExpired:
    problems.append("it does not end")
case("few_descriptors_lock_nobody_out", problems)
for s in silent:
    s.close()

# The browser is led there by a file: anybody can read a process's arguments.
xdg_open = os.path.join(WORK, "bin", "xdg-open")
with open(xdg_open, "w") as file:
    file.write(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{WORK}/arguments.new"\nstat -c %a "$1" >"{WORK}/mode"\n'
               f'cp "$1" "{WORK}/redirect"\nmv "{WORK}/arguments.new" "{WORK}/arguments"\n')
os.chmod(xdg_open, 0o755)
environment = dict(os.environ, DISPLAY=":0", XDG_RUNTIME_DIR=WORK, PATH=os.path.join(WORK, "bin") + ":" + os.environ["PATH"])
second = Server(environment=environment)
end = time.monotonic() + PATIENCE
while not os.path.exists(f"{WORK}/arguments") and time.monotonic() < end:
    time.sleep(0.02)
problems = []
if not os.path.exists(f"{WORK}/arguments"):
    problems.append("no browser was opened")
else:
    arguments = open(f"{WORK}/arguments").read()
    if second.path.strip("/") in arguments:
        problems.append(f"the arguments tell the address: {arguments}")
    if open(f"{WORK}/mode").read() != "600\n":
        problems.append(f"mode {open(f'{WORK}/mode').read()}")
    if f'url={second.address}"' not in open(f"{WORK}/redirect").read():
        problems.append("the file leads elsewhere")
status, err = second.end()
if status or err:
    problems.append(f"exit status {status}, {err[-200:]!r}")
left = [name for name in os.listdir(WORK) if name.startswith("tidemark-view-")]
if left:
    problems.append(f"{left} is left")
case("the_browser_is_told_in_private", problems)
case("each_server_has_its_own_address", ["the same twice"] if second.path == server.path else [])
