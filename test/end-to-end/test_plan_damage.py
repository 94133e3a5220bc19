"""Plans cut at any length or with any byte changed: refused with exit code 4
(or 3: for a runtime that knows more), or run unharmed. Never a crash.
"""
import concurrent.futures
import random

import support
import test_run_errors

FOLDER = support.folder("plan-damage")


def attempt(number, data, *arguments):
    """Runs one damaged plan; many at once need files of their own."""
    plan = FOLDER / f"damaged-{number}.stint"
    plan.write_bytes(data)
    given = FOLDER / "x.npy"
    try:
        return support.run([support.RUN, plan, "--input", given, "--threads", "1", *arguments], timeout=30)
    finally:
        plan.unlink()


def prepared():
    path = test_run_errors.small_plan()
    support.tensors.write_npy(FOLDER / "x.npy", (3, 8), support.tensors.array.array("f", range(24)))
    return support.PlanFile(path)


def all_of(jobs):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda job: (job[0], attempt(*job[1:])), jobs)


def cut():
    plan = prepared()
    # The places where one part ends and another begins, and around them.
    edges = {0, 127, 128, plan.table_end, plan.plan_offset, plan.plan_offset + plan.plan_size, plan.size}
    for _, offset, size in plan.sections:
        edges |= {offset, offset + size}
    sizes = {edge + d for edge in edges for d in (-65, -64, -1, 0, 1, 64)}
    sizes |= set(range(0, 600, 3)) | set(range(0, plan.size, plan.size // 150 + 1))
    sizes = sorted(size for size in sizes if 0 <= size < plan.size)
    for size, done in all_of((size, i, plan.data[:size]) for i, size in enumerate(sizes)):
        assert done.returncode == 4, f"{size} of {plan.size} bytes: exit code {done.returncode}\n{done.text}"
    return f"{len(sizes)} lengths"


def longer():
    plan = prepared()
    for number, tail in enumerate((b"\0", bytes(65536), b"x" * 1000)):
        done = attempt(number, plan.data + tail)
        assert done.returncode in (0, 4), done.text


def covered(plan):
    """Bytes that the root hash covers, and those of weights."""
    root = list(range(plan.table_end)) + list(range(plan.plan_offset, plan.plan_offset + plan.plan_size))
    weights = []
    for kind, offset, size in plan.sections:
        if kind == 2:
            weights += range(offset, offset + size)
    return root, weights


def changed_header():
    """Every byte of header and section table: never accepted."""
    plan = prepared()
    jobs = []
    for place in range(plan.table_end):
        data = bytearray(plan.data)
        data[place] ^= 1 << place % 8
        jobs.append((place, place, bytes(data)))
    for place, done in all_of(jobs):
        assert done.returncode in (3, 4), f"byte {place}: exit code {done.returncode}\n{done.text}"
    return f"{len(jobs)} bytes"


def changed_plan():
    """Bytes of the plan: refused, all of them."""
    plan = prepared()
    numbers = random.Random(4)
    places = sorted(numbers.sample(range(plan.plan_size), min(300, plan.plan_size)))

    def jobs():
        for place in places:
            data = bytearray(plan.data)
            data[plan.plan_offset + place] ^= 1 << numbers.randrange(8)
            yield place, place, bytes(data)
    for place, done in all_of(jobs()):
        assert done.returncode == 4, f"byte {place} of the plan: exit code {done.returncode}\n{done.text}"
    return f"{len(places)} bytes"


def changed_code():
    """Code in use: refused. Code of another variant or machine isn't touched."""
    plan = prepared()
    numbers = random.Random(5)
    refused = 0
    for number, (kind, offset, size) in enumerate(plan.sections):
        if kind != 1:
            continue
        for place in numbers.sample(range(size), min(12, size)):
            data = bytearray(plan.data)
            data[offset + place] ^= 0x10
            done = attempt(number, bytes(data))
            assert done.returncode in (0, 4), done.text
            refused += done.returncode == 4
    assert refused >= 12, "damaged code was accepted"
    return f"{refused} refused"


def changed_weights():
    """Weights: with --verify refused, without it wrong numbers and no harm."""
    plan = prepared()
    _, weights = covered(plan)
    assert weights, "the plan has no weights"
    for number, place in enumerate(random.Random(6).sample(weights, min(40, len(weights)))):
        data = bytearray(plan.data)
        data[place] ^= 0x40
        for when in ("full", "first-use"):
            support.expect(attempt(number, bytes(data), "--verify", when), 4)
        support.expect(attempt(number, bytes(data)), 0)


def tests():
    yield "cut", cut
    yield "longer", longer
    yield "changed-header", changed_header
    yield "changed-plan", changed_plan
    yield "changed-code", changed_code
    yield "changed-weights", changed_weights
