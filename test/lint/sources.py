"""Rules on files as such: format, length, budgets, pairs of pass and test."""
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CORE_BUDGET = 4000
FILE_BUDGET = 800
CORE_FOLDERS = ("base", "platform", "plan", "code", "threads", "devices", "core")


class Skipped(Exception):
    """A rule that can't be checked here, and why."""


def tracked():
    """Files of the repository: tracked, or new and not ignored."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def code_files():
    return [name for name in tracked() if name.endswith((".cpp", ".h", ".hpp", ".c"))]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def line_count(name):
    return read(name).count("\n")


def find_tool(*names):
    for name in names:
        if shutil.which(name):
            return name
    raise Skipped(f"no {names[0]} here")


def rule_format():
    """Code is formatted as .clang-format says (run clang-format-19 -i)."""
    tool = find_tool("clang-format-19")
    files = code_files()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def check(part):
            return subprocess.run([tool, "--dry-run", "-Werror", *part], cwd=ROOT,
                                  capture_output=True, text=True).stderr
        reports = "".join(pool.map(check, [files[i::8] for i in range(8) if files[i::8]]))
    return sorted({line.split(":")[0] for line in reports.splitlines() if "clang-format-violations" in line})


def code_line_count(name):
    """Lines that are neither blank nor all comment, as CountLines.cmake counts."""
    return sum(1 for line in read(name).splitlines() if line.strip() and not line.lstrip().startswith("//"))


def core_lines():
    return sum(code_line_count(name) for name in code_files()
               if name.startswith(tuple(f"runtime/{folder}/" for folder in CORE_FOLDERS)))


def rule_core_budget():
    """The runtime's core has at most 4,000 lines of code."""
    lines = core_lines()
    print(f"         runtime core: {lines} of {CORE_BUDGET} lines of code")
    return [f"{lines} lines"] if lines > CORE_BUDGET else []


def rule_file_length():
    """No file of code has more than 800 lines: look for the second idea in it."""
    endings = (".cpp", ".h", ".hpp", ".c", ".td", ".py", ".sh", ".cmake", ".mlir", ".def", ".fbs")
    return [f"{name}: {line_count(name)} lines" for name in tracked()
            if name.endswith(endings) and line_count(name) > FILE_BUDGET]


def rule_opening_comment():
    """A file of code begins with a comment that says what it does."""
    return [name for name in code_files() if not read(name).lstrip().startswith(("//", "/*"))]


def rule_pass_has_test():
    """passes/<stage>/DoThing.cpp is tested by test/passes/<stage>/do-thing.mlir."""
    missing = []
    for name in tracked():
        match = re.fullmatch(r"passes/(\w+)/([A-Z]\w*)\.cpp", name)
        if not match or "PassBase" not in read(name) and "impl::" not in read(name):
            continue
        kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", match[2]).lower()
        test = f"test/passes/{match[1]}/{kebab}.mlir"
        if not (ROOT / test).is_file():
            missing.append(f"{name}: no {test}")
    return missing


def rule_clang_tidy():
    """clang-tidy finds nothing in the runtime and in stint-run."""
    tool = find_tool("clang-tidy-19")
    database = BUILD / "compile_commands.json"
    if not database.is_file():
        raise Skipped(f"no {database.name} in the build folder")
    files = sorted({entry["file"] for entry in json.loads(database.read_text())
                    if re.search(r"/(runtime|tools/stint-run)/[^.]*\.cpp$", entry["file"])
                    and str(ROOT / "test") not in entry["file"]})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def check(file):
            return subprocess.run([tool, "--quiet", "-p", str(BUILD), file], cwd=ROOT,
                                  capture_output=True, text=True).stdout
        reports = "".join(pool.map(check, files))
    found = [line for line in reports.splitlines() if re.search(r"(warning|error): ", line)]
    return sorted({line.replace(str(ROOT) + "/", "") for line in found})


def rule_scripts():
    """Shell and Python scripts parse."""
    complaints = []
    for name in tracked():
        path = ROOT / name
        if path.suffix in (".png", ".gz", ".npy"):
            continue
        with open(path, "rb") as stream:
            first = stream.readline(100)
        if name.endswith(".sh") or b"bash" in first and first.startswith(b"#!"):
            done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
            if done.returncode:
                complaints.append(done.stderr.strip())
        elif name.endswith(".py") or b"python" in first and first.startswith(b"#!"):
            try:
                compile(read(name), name, "exec")
            except SyntaxError as error:
                complaints.append(str(error))
    return complaints
