"""The page reader of models/: detection and recognition together read a photographed page."""
import sys

import support

PAGE = """Region-based segmentation
Let us first determine markers of the coins and the
background. These markers are pixels that we can label
unambiguously as either object or background. Here,
the markers are found at the two extreme parts of the
histogram of grey values:
>>> markers = np.zeros_like(coins)"""
SIZES = {
    "ppocr-v4-det": {"p2o.DynamicDimension.0": "1", "p2o.DynamicDimension.1": "32..768:32",
                     "p2o.DynamicDimension.2": "32..768:32"},
    "ppocr-v4-rec": {"p2o.DynamicDimension.0": "1", "p2o.DynamicDimension.1": "48..1280"},
}


def edits(left, right):
    """Levenshtein's distance."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def reads():
    plans = {}
    for name, dims in SIZES.items():
        plans[name] = support.folder("plans") / f"page-{name}.stint"
        support.expect(support.compile_model(support.MODELS / support.CASES[name]["file"], plans[name],
                                             *support.dim_flags({"dims": dims})), 0)
    done = support.run([sys.executable, support.ROOT / "models" / "read-page",
                        support.ROOT / "models" / "inputs" / "page.png", "--det", plans["ppocr-v4-det"],
                        "--rec", plans["ppocr-v4-rec"], "--keys", support.MODELS / "ppocr-keys.txt"],
                       env={"STINT_BUILD": str(support.BUILD), "STINT_MODELS": str(support.MODELS)})
    text = support.expect(done, 0).stdout.decode().strip()
    wrong = edits(text, PAGE) / len(PAGE)
    # Of English, the model drops some spaces; little else.
    letters, wanted = text.replace(" ", ""), PAGE.replace(" ", "")
    wrong_letters = edits(letters, wanted) / len(wanted)
    assert wrong <= 0.05, f"{wrong:.1%} of the characters are wrong: {text}"
    assert wrong_letters <= 0.01, f"{wrong_letters:.1%} of the letters are wrong: {text}"
    return f"{wrong:.1%} of the characters are wrong, {wrong_letters:.1%} without spaces"


def without_library():
    """A build folder that has no libstint."""
    done = support.run([sys.executable, support.ROOT / "models" / "read-page",
                        support.ROOT / "models" / "inputs" / "page.png", "--det", "det.stint", "--rec", "rec.stint",
                        "--keys", support.ROOT / "README.md"], env={"STINT_BUILD": str(support.folder("no-library"))})
    support.expect(done, 1, "read-page: ", "libstint.so", "$STINT_BUILD")
    assert "Traceback" not in done.text, done.text


def tests():
    yield "page", reads
    yield "without-library", without_library
