#!/usr/bin/env python3
"""Runs the table of cases of RFC 9111 through Examples/CachingProxy, over sockets.

    swift build --build-tests
    swift build --package-path Examples/CachingProxy --scratch-path .build
    Scripts/checks/caching-proxy-cases.py                   # less than a minute
    Scripts/checks/caching-proxy-cases.py --only "5861 3"   # the cases whose section and claim contain the text

The cases are those of Tests/SluiceCacheTests/Policy, which the tests write as JSON. An origin on loopback gives each case's responses and
records its requests. The proxy's clock stands still, and the check moves it. Fails if a request or a response differs, or if fewer than
500 cases can be run. Cases that need something that a client can't send are counted by reason.
"""
import argparse, collections, email.utils, json, os, pathlib, re, subprocess, sys, tempfile

from builds import program
from proxied import PATIENCE, Clock, Message, Origin, Proxy, response

# Sun, 06 Nov 1994 08:49:37 GMT, as in PolicyScenario
START = 784_111_777
# Absent from a request unless the case names them.
CONDITIONS = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"]


class Difference(Exception):
    pass


def reason_to_skip(case: dict) -> str | None:
    """Returns why a case can't be run."""
    for step in case["steps"]:
        for word in step["request"]["words"]:
            if word in ("(reload)", "(staleIfOffline)"):
                return f"the lookup mode {word} isn't a part of HTTP"
            if "://" in word or word.startswith("//"):
                return "a reverse proxy has one origin"
        for message in step["responses"]:
            fields = {field["name"].lower(): field["value"] for field in message["fields"]}
            if "transfer-encoding" in fields:
                return "libcurl refuses a transfer coding that it doesn't know"
            if message["words"][0] == "cut" and fields.get("content-length") == str(len(message.get("body") or "")):
                return "a body with its announced length isn't cut off"
    return None


class Runner:
    def __init__(self, directory: pathlib.Path):
        self.clock = Clock(directory)
        self.origin = Origin(self.answer)
        self.proxy = Proxy(self.origin.url, directory / "cache", self.clock)
        self.script: list[dict] = []

    # The origin

    def answer(self, request: Message) -> bytes:
        """The next response of the script. Without one, the origin closes the connection: the case is only about the request."""
        bytes_sent = b""
        while self.script:
            message = self.script.pop(0)
            words = list(message["words"])
            first = words.pop(0) if len(words) == 2 else ""
            if first.isdigit():
                self.clock.set(self.clock.now + int(first))
            if words[0] == "failure":
                break
            status = int(words[0])
            fields = self.fields(message["fields"])
            if status < 200:
                # The final response follows on the same connection.
                bytes_sent += response(status, fields, None)
                continue
            body = (message.get("body") if message.get("body") is not None else str(self.number)).encode()
            if request.method == "HEAD" or status in (204, 304):
                return bytes_sent + response(status, fields, None)
            if first == "cut" and not any(name.lower() == "content-length" for name, _ in fields):
                # Chunks without a last one.
                head = response(status, [*fields, ("Transfer-Encoding", "chunked")], None)
                return bytes_sent + head + b"%x\r\n%b\r\n" % (len(body), body)
            return bytes_sent + response(status, fields, body)
        return bytes_sent

    def fields(self, fields: list[dict]) -> list[tuple[str, str]]:
        return [(field["name"], self.text(field["value"])) for field in fields if field.get("value") is not None]

    def text(self, value: str) -> str:
        """Fills in dates, and the origin in place of example.test."""
        value = re.sub(r"(?i)(http)://example\.test(:80)?(?=[/#?]|$)", rf"\g<1>{self.origin.url[4:]}", value)
        return re.sub(
            r"@(-?\d+)", lambda match: email.utils.formatdate(self.clock.now + int(match[1]), usegmt=True), value)

    # The client

    def run(self, case: dict) -> None:
        """Raises Difference if the proxy does something else than the case tells."""
        self.clock.set(START)
        targets = set()
        try:
            for self.number, step in enumerate(case["steps"], 1):
                try:
                    targets.add(self.step(step, isLast=self.number == len(case["steps"])))
                except (Difference, OSError) as problem:
                    raise Difference(f"step {self.number}, {step['line']}: {problem}") from None
        finally:
            self.script = []
            # The cache forgets what an unsafe request has changed.
            for target in targets:
                self.script = [{"words": ["204"], "fields": []}]
                self.proxy.ask("DELETE", target)
            self.origin.taken()

    def step(self, step: dict, isLast: bool) -> str:
        words = list(step["request"]["words"])
        if words[0][0] in "+-":
            self.clock.set(self.clock.now + int(words.pop(0)))
        method, *rest = [word for word in words if word not in ("(useCache)", "(cacheOnly)")]
        target = "/" + (rest[0] if rest else "").lstrip("/").split("#")[0]
        fields = self.fields(step["request"]["fields"])
        if "(cacheOnly)" in words:
            # The mode has the meaning of these directives.
            fields.append(("Cache-Control", "only-if-cached, max-stale"))
        sent = self.sent(fields, self.fields(step["decision"]["fields"]))
        unchanged = self.sent(fields, [])
        decision = step["decision"]["words"][0]
        self.script = list(step["responses"])
        answer = self.proxy.ask(method, target, fields)
        if decision == "revalidate":
            self.origin.wait(1)
            if not isLast:
                self.wait_for_validation(target, answer.get("Age"))
        requests = self.origin.taken()

        finals = [message for message in step["responses"] if not message["words"][-1].startswith("1")]
        count = 0 if decision in ("serve", "fail") else max(1, len(finals))
        if len(requests) != count:
            raise Difference(f"the origin got {len(requests)} requests instead of {count}, and the client {answer}")
        for index, request in enumerate(requests):
            self.compare_request(request, method, target, sent if index == 0 else unchanged)
        if step.get("answer"):
            self.compare_answer(answer, step["answer"])
        return target

    def sent(self, client: list[tuple[str, str]], decision: list[tuple[str, str]]) -> dict[str, str | None]:
        """Returns the fields that the origin must get. Those of the decision replace those of the client."""
        expected: dict[str, str | None] = dict.fromkeys(CONDITIONS)
        replaced = {name.lower() for name, _ in decision}
        for name, value in [*(field for field in client if field[0].lower() not in replaced), *decision]:
            expected[name] = value if expected.get(name) is None else f"{expected[name]}, {value}"
        return expected

    def compare_request(self, request: Message, method: str, target: str, expected: dict[str, str | None]):
        if (request.method, request.target) != (method, target):
            raise Difference(f"the origin got {request.start}")
        for name, value in expected.items():
            if request.get(name) != value:
                raise Difference(f"the origin got {name}: {request.get(name)} instead of {value}")

    def compare_answer(self, answer: Message, expected: dict):
        # 0 means that no response is there. The proxy tells the client so.
        status = int(expected["words"][0]) or 502
        if answer.status != status:
            raise Difference(f"the client got {answer} instead of {status}")
        if expected.get("body") is not None and answer.body != expected["body"].encode():
            raise Difference(f"the client got the body {answer.body!r}")
        for field in expected["fields"]:
            value = field.get("value")
            if answer.get(field["name"]) != (None if value is None else self.text(value)):
                raise Difference(f"the client got {field['name']}: {answer.get(field['name'])}")

    def wait_for_validation(self, target: str, age: str | None):
        """A validation in the background has no sign but its effect: another age. Requests with only-if-cached change nothing."""
        for _ in range(PATIENCE * 1000):
            answer = self.proxy.ask("GET", target, [("Cache-Control", "only-if-cached")])
            if answer.get("Age") != age:
                return
        raise Difference("the validation in the background has no effect")


def read_cases(directory: pathlib.Path) -> list[dict]:
    file = directory / "cases.json"
    tests = [program("sluicePackageTests.xctest"), "--testing-library", "swift-testing", "--filter", "other programs can read"]
    result = subprocess.run(
        tests, env=os.environ | {"SLUICE_POLICY_CASES": str(file)}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode or not file.exists():
        sys.exit(f"The tests can't write the cases:\n{result.stdout}{result.stderr}")
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run only the cases whose section and claim contain this text")
    options = parser.parse_args()
    skipped: collections.Counter[str] = collections.Counter()
    passed, problems = 0, []
    with tempfile.TemporaryDirectory(prefix="sluice-proxy-") as temporary:
        directory = pathlib.Path(temporary)
        cases = read_cases(directory)
        runner = Runner(directory)
        for case in cases:
            name = f"{case['section']} {case['claim']}"
            if options.only not in name:
                continue
            if reason := reason_to_skip(case):
                skipped[reason] += 1
                continue
            try:
                runner.run(case)
                passed += 1
            except Difference as problem:
                problems.append(f"{name}\n    {problem}")
        if runner.proxy.end() != 0:
            problems.append("the proxy didn't end with 0 after SIGTERM")
    for reason, count in skipped.most_common():
        print(f"{count:4} not run: {reason}")
    print(f"{passed:4} passed, {len(problems)} failed")
    if problems:
        sys.exit("\n".join(problems))
    if not options.only and passed < 500:
        sys.exit("Fewer than 500 cases were run.")


main()
