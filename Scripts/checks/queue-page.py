#!/usr/bin/env python3
"""Uses the page of a queue as people do, with Chromium: reads, filters, follows changes, cancels, logs in, with a keyboard, on a phone, in the
dark, and without scripts. Then schemathesis sends the API what its description allows and what it doesn't.

    swift build --product sluice
    Scripts/checks/queue-page.py [--write-image]

Also checks the pages with the rules of axe-core, and that they request nothing from other servers. With SLUICE_POSTGRES (see postgres.sh), the
page is used with a queue on PostgreSQL, too. Chromium and the packages from PyPI are skipped with a message if they are missing, unless
SLUICE_REQUIRE_SERVERS is set, as in CI. Exits with 1 if something is wrong.

--write-image writes the image of docs/queue-page.md and the README.
"""
import contextlib, http.server, json, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, threading, time, traceback, urllib.request

from builds import ROOT, program

PACKAGES = ["playwright==1.65.2", "axe-playwright-python==0.1.8", "schemathesis==4.32.5"]
DIRECTORY = ROOT / ".build-python/queue-page"
BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
TOKEN = "a-token-for-this-check"
FILES = 60


def skip(reason: str) -> None:
    if os.environ.get("SLUICE_REQUIRE_SERVERS"):
        sys.exit(reason)
    print(f"skipped: {reason}")
    sys.exit(0)


def fetch() -> None:
    if not (DIRECTORY / "playwright").exists():
        unfinished = DIRECTORY.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--target",
               str(unfinished), *PACKAGES]
        if subprocess.run(pip).returncode != 0:
            skip("the packages can't be fetched from PyPI: " + " ".join(PACKAGES))
        unfinished.rename(DIRECTORY)
    sys.path.insert(0, str(DIRECTORY))


# The server that the downloads come from.

class Source(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = self.path.split("/")[1]
        if kind in ("busy", "gone"):
            self.send_response(429 if kind == "busy" else 404)
            if kind == "busy":
                self.send_header("Retry-After", "600")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = 4_000_000 if kind == "slow" else 50_000
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(200):
                self.wfile.write(b"x" * (size // 200))
                if kind == "slow":
                    time.sleep(0.5)


# The queue, its worker, and its page.

class Scene:
    def __init__(self, database: str, place: pathlib.Path, source: str):
        self.database, self.place, self.source = database, place, source
        self.sluice = str(program("sluice"))
        self.running: list[subprocess.Popen] = []

    def run(self, command: str, *arguments: str) -> str:
        return subprocess.run([self.sluice, "queue", command, "--db", self.database, *arguments], cwd=self.place, check=True, text=True,
                              capture_output=True).stdout

    def add(self, *paths: str, user: str | None = None, batch: str | None = None, more: tuple[str, ...] = ()) -> None:
        options = [*(["--user", user] if user else []), *(["--batch", batch] if batch else []), *more]
        self.run("add", "-d", "music", *options, *(f"{self.source}/{path}" for path in paths))

    def counts(self) -> dict[str, int]:
        return json.loads(self.run("list", "--json", "--limit", "0"))["counts"]

    def ended(self) -> list[dict]:
        return json.loads(self.run("list", "--json", "--limit", "1000"))["ended"]

    def start(self, *arguments: str) -> subprocess.Popen:
        process = subprocess.Popen([self.sluice, "queue", arguments[0], "--db", self.database, *arguments[1:]], cwd=self.place, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.running.append(process)
        return process

    def work(self) -> subprocess.Popen:
        return self.start("work", "-q", "-j", "3", "--per-host", "3", "--per-user", "2")

    def serve(self, *options: str, port: int = 0) -> tuple[subprocess.Popen, str]:
        process = self.start("serve", "--listen", f"127.0.0.1:{port}", *options)
        return process, re.search(r"http://\S+", process.stdout.readline())[0]

    def end(self) -> None:
        for process in self.running:
            process.send_signal(signal.SIGKILL)
            process.wait()


def fill(scene: Scene) -> None:
    scene.add(*(f"slow/side-{number}.flac" for number in range(1, 6)), user="ann", batch="top 500")
    # By another name, because the whole host has to wait.
    scene.run("add", "-d", "music", f"{scene.source}/busy/limited.mp3".replace("127.0.0.1", "localhost"))
    scene.add("gone/lost.mp3", "fast/%3Cimg%20src=x%20onerror=alert(1)%3E.mp3", user="<b>eve</b>")
    scene.add(*(f"fast/track-{number:03}.mp3" for number in range(1, FILES + 1)), user="ben", batch="top 500")


# What is checked. Each function gets a page of the list, and fails with an assertion.

def eventually(condition, text: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {text}"
        time.sleep(0.05)


def count(page, state: str) -> int:
    return int(page.inner_text(f"#states [data-state={state}] b").replace(",", ""))


def shows_the_queue(scene, page, base):
    eventually(lambda: count(page, "done") >= FILES, "the small files are done")
    page.goto(base + "?state=waiting")
    text = page.inner_text("main")
    assert "2 of at most 2 downloads for ann are running." in text, text
    assert "asked for a delay" in text, text
    page.goto(base + "?state=failed")
    assert "The server answered 404 Not Found. Check the URL." in page.inner_text("#rows"), page.inner_text("#rows")
    page.click("text=lost.mp3")
    assert "started" in page.inner_text("#events") and "failed" in page.inner_text("#events")


def runs_no_script_of_a_name(scene, page, base):
    page.goto(base + "?name=onerror")
    assert page.locator("#rows tbody tr").count() == 1
    assert page.locator("#rows img").count() == 0 and page.locator("#rows td b").count() == 0


def filters(scene, page, base):
    page.fill("input[name=user]", "ben")
    page.fill("input[name=name]", "TRACK-00")
    page.click("#filter button")
    page.wait_for_url("**user=ben**")
    assert page.locator("#rows tbody tr").count() == 9
    page.click("text=Clear")
    page.wait_for_load_state()
    assert page.locator("#rows tbody tr").count() > 9


def follows_changes(scene, page, base):
    before = count(page, "all")
    scene.add("slow/late.flac", user="zoe")
    eventually(lambda: count(page, "all") == before + 1, "another process's download")
    assert page.locator("#rows tbody tr", has_text="late.flac").count() == 1
    bar = page.locator("#running tr", has_text="side-1.flac").locator("progress")
    first = float(bar.get_attribute("value"))
    eventually(lambda: float(bar.get_attribute("value")) > first, "a bar that grows", 40)
    scene.run("cancel", "--user", "zoe")


def cancels_a_selection(scene, page, base):
    scene.add("slow/unwanted-1.flac", "slow/unwanted-2.flac", user="eva")
    page.goto(base + "?user=eva")
    before = scene.counts()["cancelled"]
    page.locator("#rows tbody input").first.check()
    page.locator("#rows tbody input").last.check()
    assert page.inner_text("#selected") == "2 selected."
    page.click("#toolbar [data-action=cancel]")
    page.wait_for_selector("#confirm[open]")
    assert page.inner_text("#question") == "Cancel 2 downloads?", page.inner_text("#question")
    page.click("#confirm button[value=no]")
    assert scene.counts()["cancelled"] == before
    page.click("#toolbar [data-action=cancel]")
    page.wait_for_selector("#confirm[open]")
    page.click("#confirm button[value=yes]")
    eventually(lambda: page.locator("#rows tr.cancelled").count() == 2, "two cancelled rows")


def changes_all_that_match(scene, page, base):
    page.goto(base + "?state=cancelled&user=eva")
    page.check("#all")
    page.click("#toolbar [data-action=remove]")
    page.wait_for_selector("#confirm[open]")
    assert page.inner_text("#question") == "Remove 2 downloads?"
    page.click("#confirm button[value=yes]")
    eventually(lambda: "No download matches." in page.inner_text("#rows"), "no rows")


def works_without_a_mouse(scene, page, base):
    page.goto(base + "?state=waiting&user=ann")
    page.locator("#rows tbody input").first.focus()
    page.keyboard.press("Space")
    page.locator("#toolbar [data-action=prioritize]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm[open]")
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    eventually(lambda: "priority 7" in page.inner_text("#rows"), "the new priority")
    page.locator("h1 a").focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "name"
    # Every control can be reached.
    page.locator("#rows tbody input").first.check()
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
    assert any("data-action=\"pause\"" in one for one in seen) and any("<summary" in one for one in seen), seen


def adds_downloads(scene, page, base):
    page.click("#add summary")
    page.fill("#add textarea", f"{scene.source}/fast/new-1.mp3\n\n{scene.source}/fast/new-2.mp3\n")
    page.fill("#add input[name=user]", "kim")
    page.click("#add button")
    eventually(lambda: "2 downloads added." in page.inner_text("#add [role=status]"), "the result")
    page.fill("#add textarea", "ftp://example.com/x")
    page.click("#add button")
    eventually(lambda: "downloads[0]" in page.inner_text("#add [role=status]"), "the error")
    eventually(lambda: {"new-1.mp3", "new-2.mp3"} <= {pathlib.Path(one["file"]).name for one in scene.ended()}, "the files")


def tells_of_a_stopped_worker(scene, page, base):
    worker = next(one for one in scene.running if "work" in one.args)
    worker.send_signal(signal.SIGINT)
    worker.wait()
    eventually(lambda: "No worker is running" in page.inner_text("#alerts"), "the alert")
    scene.work()
    eventually(lambda: "No worker is running" not in page.inner_text("#alerts"), "another worker")


def reconnects(scene, page, base):
    server = next(one for one in scene.running if "serve" in one.args and "--token-file" not in one.args)
    port = int(re.search(r":(\d+)", base)[1])
    server.send_signal(signal.SIGKILL)
    server.wait()
    eventually(lambda: page.inner_text("#live") == "Reconnecting…", "the loss")
    before = count(page, "all")
    scene.add("fast/meanwhile.mp3", user="zoe")
    scene.serve(port=port)
    eventually(lambda: page.inner_text("#live") == "Live", "the connection", 40)
    eventually(lambda: count(page, "all") == before + 1, "what happened meanwhile")


def shares_a_stream_among_tabs(scene, page, base):
    context = page.context.browser.new_context()
    streams = {0: 0, 1: 0}
    tabs = [context.new_page(), context.new_page()]
    for number, tab in enumerate(tabs):
        def note(request, number=number):
            streams[number] += request.url.endswith("/stream")
        tab.on("request", note)
        tab.goto(base)
        eventually(lambda: tab.inner_text("#live") == "Live", "the connection")
    before = count(page, "all")
    scene.add("fast/for-both.mp3", user="zoe")
    for tab in tabs:
        eventually(lambda: count(tab, "all") == before + 1, "a change in both tabs")
    assert streams == {0: 1, 1: 0}, streams
    # When the first tab is closed, the other one takes over.
    tabs[0].close()
    eventually(lambda: tabs[1].inner_text("#live") == "Live" and streams[1] == 1, "the other tab's stream")
    context.close()


CHECKS = [shows_the_queue, runs_no_script_of_a_name, filters, follows_changes, cancels_a_selection, changes_all_that_match,
          works_without_a_mouse, adds_downloads, tells_of_a_stopped_worker, shares_a_stream_among_tabs, reconnects]


# Pages that need a browser context of their own.

def reads_without_scripts(browser, base):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(base)
    page.click("#states [data-state=failed]")
    assert "lost.mp3" in page.inner_text("#rows")
    page.fill("input[name=name]", "nothing")
    page.click("#filter button")
    assert "No download matches." in page.inner_text("#rows")


def is_dark_and_narrow(browser, base):
    colors = set()
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 740}).new_page()
        for path in ("", "?state=failed", "downloads/1"):
            page.goto(base + path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide for a phone"
        colors.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colors) == 2, colors


def wants_the_token(scene, browser, folder):
    (folder / "token").write_text(TOKEN + "\n")
    _, base = scene.serve("--token-file", str(folder / "token"), "--base-path", "/queue", "--read-only")
    page = browser.new_context().new_page()
    page.goto(base)
    assert "lost.mp3" not in page.content()
    page.fill("input[name=token]", "wrong")
    page.click("button")
    page.wait_for_selector("text=That isn't the token.")
    page.fill("input[name=token]", TOKEN)
    page.click("button")
    page.wait_for_url(base)
    eventually(lambda: page.inner_text("#live") == "Read-only, live" or page.inner_text("#live") == "Live", "the stream with the cookie")
    assert page.locator("#toolbar").count() == 0
    page.click("text=Log out")
    page.goto(base + "?state=failed")
    assert "lost.mp3" not in page.content()
    return base


def follows_the_rules_of_axe(browser, base, login):
    from axe_playwright_python.sync_playwright import Axe
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
        for url in (base, base + "?state=failed", base + "?user=nobody", base + "downloads/1", login):
            page.goto(url)
            results = Axe().run(page)
            assert results.violations_count == 0, f"{url}, {scheme}:\n{results.generate_report()}"


def is_small(scene, browser, base):
    scene.add(*(f"slow/of-a-hundred-{number:03}.flac" for number in range(1, 121)), user="ann", batch="top 500")
    page = browser.new_context().new_page()
    page.goto(base + "?state=waiting")
    assert page.locator("#rows tbody tr").count() == 100
    # Everything that the browser loads.
    sizes = {path: len(urllib.request.urlopen(base + path).read()) for path in ("?state=waiting", "page.css", "page.js", "icon.svg")}
    total = sum(sizes.values())
    assert total <= 60_000, sizes
    scene.run("cancel", "--batch", "top 500")
    return total


def keeps_its_description(base):
    """The API does what its description says, whatever it is sent."""
    environment = os.environ | {"PYTHONPATH": str(DIRECTORY)}
    command = [sys.executable, "-m", "schemathesis.cli", "run", base + "api/v1/openapi.json", "--url", base.rstrip("/"), "--max-examples", "25",
               "--exclude-path", "/api/v1/stream", "--seed", "1", "--no-color", "--phases", "examples,coverage,fuzzing",
               "--exclude-checks", "positive_data_acceptance,unsupported_method,missing_required_header,ignored_auth"]
    result = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert result.returncode == 0, result.stdout[-6000:]


# The image of the documentation.

def write_image(browser, base):
    page = browser.new_context(viewport={"width": 1100, "height": 800}).new_page()
    page.goto(base)
    page.wait_for_timeout(3000)
    page.screenshot(path=str(ROOT / "docs/images/queue-page.png"))


def run(name: str, action) -> bool:
    began = time.monotonic()
    try:
        value = action()
    except Exception:
        print(f"FAILED: {name}")
        traceback.print_exc()
        return False
    detail = f" ({value} bytes)" if isinstance(value, int) else ""
    print(f"{time.monotonic() - began:5.1f} s  {name}{detail}", flush=True)
    return True


def check(database: str, title: str, source: str, chromium, writes_image: bool) -> bool:
    with tempfile.TemporaryDirectory(prefix="sluice-page-") as folder:
        scene = Scene(database or str(pathlib.Path(folder, "songs.db")), pathlib.Path(folder), source)
        try:
            fill(scene)
            scene.work()
            _, base = scene.serve()
            context = chromium.new_context()
            context.set_default_timeout(20_000)
            problems, hosts = [], set()
            page = context.new_page()
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: hosts.add(request.url.split("/")[2]) if request.url.startswith("http") else None)
            good = True
            for one in CHECKS:
                def action(one=one):
                    page.goto(base)
                    one(scene, page, base)
                good &= run(f"{title}: {one.__name__.replace('_', ' ')}", action)
            assert not problems, problems
            assert hosts == {base.split("/")[2]}, hosts
            if database:
                return good
            login = []
            good &= run("reads without scripts", lambda: reads_without_scripts(chromium, base))
            good &= run("is dark and narrow", lambda: is_dark_and_narrow(chromium, base))
            good &= run("wants the token", lambda: login.append(wants_the_token(scene, chromium, pathlib.Path(folder))))
            good &= run("follows the rules of axe", lambda: follows_the_rules_of_axe(chromium, base, login[0]))
            if writes_image:
                write_image(chromium, base)
            good &= run("is small", lambda: is_small(scene, chromium, base))
            good &= run("keeps its description", lambda: keeps_its_description(base))
            return good
        finally:
            scene.end()


def main() -> None:
    browser = next((path for path in BROWSERS if os.path.exists(path)), None)
    if not browser:
        skip("Chromium is missing; run Scripts/install-system-packages.sh")
    fetch()
    from playwright.sync_api import sync_playwright
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Source)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = f"http://127.0.0.1:{server.server_port}"
    good = True
    with sync_playwright() as playwright:
        # A browser in a container can't make a sandbox.
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        good &= check("", "SQLite", source, chromium, "--write-image" in sys.argv)
        if postgres := os.environ.get("SLUICE_POSTGRES"):
            good &= check(f"{postgres}#page-{os.getpid()}", "PostgreSQL", source, chromium, False)
        chromium.close()
    sys.exit(0 if good else 1)


main()
