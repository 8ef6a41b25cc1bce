"""Servers on 127.0.0.1 for the checks. Each ends with its context.

    with servers.nginx(work, port, f"server {{ listen 127.0.0.1:{port}; root {root}; }}"):
        …
"""
import contextlib, pathlib, signal, socket, subprocess, sys, time


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def program_server(arguments: list, port: int, log: pathlib.Path, environment: dict[str, str] | None = None):
    """Runs a server in the foreground until its context ends. Waits until the port accepts connections."""
    with open(log, "ab") as output:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{arguments[0]} did not start: {log.read_text()}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def nginx(work: pathlib.Path, port: int, servers: str, http: str = ""):
    """Runs nginx with these `server` blocks, one of which listens on the port, and with further settings of the `http` block.

    If the script runs as root, nginx's workers drop root privileges, so they must be able to read the files.
    """
    temporary = "".join(f"{name}_temp_path {work}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    configuration = work / "nginx.conf"
    configuration.write_text(f"""
        daemon off; master_process off; pid {work}/nginx.pid; error_log {work}/error.log;
        events {{ worker_connections 1024; }}
        http {{ access_log off; {temporary} {http} {servers} }}""")
    return program_server(
        ["nginx", "-e", f"{work}/error.log", "-p", str(work), "-c", str(configuration)], port, work / "error.log")
