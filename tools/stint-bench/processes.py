"""Programs that the benchmarks run in processes of their own."""
import json
import subprocess


class Failure(Exception):
    """What a benchmark ends with: one line for the user."""


def _run(parts):
    parts = [str(part) for part in parts]
    done = subprocess.run(parts, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(parts[:3])} ...: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return done


def command(*parts):
    _run(parts)


def last_json(text):
    for line in reversed(text.strip().splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failure(f"no result: {text.strip()[-300:]}")


def measured(build, *parts):
    """Runs a command below run-measured: what that says, and what the command printed."""
    done = _run([build / "bin" / "run-measured", *parts])
    return last_json(done.stdout), done.stderr


def machine_limits(build):
    return json.loads(_run([build / "bin" / "machine-limits"]).stdout)
