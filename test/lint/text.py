"""Rules on what is written: no machine's paths, no registry's hosts, links that lead somewhere."""
import re

import sources

# Written in pieces so that this file doesn't hold what it looks for.
PATHS = ["/" + "work/", "/" + "root/", "/" + "tmp/build", "/" + "tmp/infra", "/" + "home/"]
HOSTS = ["pypi" + ".org", "files.python" + "hosted", "registry." + "npmjs", "deb." + "debian.org",
         "snapshot." + "debian", "hugging" + "face.co"]


def texts():
    for name in sources.tracked():
        if not name.endswith((".png", ".gz", ".npy", ".stint", ".pb", ".onnx")):
            yield name, sources.read(name)


def rule_no_machine_paths():
    """Nothing depends on one machine's folders."""
    return [f"{name}: {path}" for name, content in texts() for path in PATHS if path in content]


def rule_no_hosts():
    """Packages are fetched by name with their clients, never from an address."""
    return [f"{name}: {host}" for name, content in texts() for host in HOSTS if host in content]


def rule_links():
    """Links between documents lead to files that are there."""
    complaints = []
    for name, content in texts():
        if not name.endswith(".md"):
            continue
        folder = (sources.ROOT / name).parent
        for target in re.findall(r"\]\(([^)#\s]+)", content):
            if "://" not in target and not (folder / target).exists():
                complaints.append(f"{name}: {target}")
    return complaints


def rule_whitespace():
    """No trailing blanks, no tabs in code, a newline at the end."""
    complaints = []
    for name, content in texts():
        if name == "LICENSE" or name.startswith("test/fuzz/corpus-") or not content:
            continue
        if not content.endswith("\n"):
            complaints.append(f"{name}: no newline at the end")
        if re.search(r"[ \t]+$", content, re.MULTILINE):
            complaints.append(f"{name}: blanks at the end of a line")
        if name.endswith((".cpp", ".h", ".hpp", ".td", ".py")) and "\t" in content:
            complaints.append(f"{name}: tabs")
    return complaints
