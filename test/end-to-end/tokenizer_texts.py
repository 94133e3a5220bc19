"""Texts that tokenizers are tried on: real ones in many scripts, random and adversarial ones."""
import gettext
import glob
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The first article of the Universal Declaration of Human Rights.
ARTICLES = [
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience "
    "and should act towards one another in a spirit of brotherhood.",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de "
    "conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
    "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и "
    "должны поступать в отношении друг друга в духе братства.",
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
    "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았다.",
    "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள்.",
    "for (int i = 0; i < 1234567; ++i) {\r\n\tprintf(\"%d: %s\\n\", i, names[i]); // it's, I'LL, we've\r\n}\n\n",
]

SPACES = [" ", "  ", "\n", "\r\n", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0", "\u1680", "\u2003", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\u180e", "\u2581", "\n\n", "\n \n", " \n"]
CONTRACTIONS = ["'s", "'S", "'\u017f", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'Ve", "'m", "'ll", "'LL", "'d", "''",
                "'", "\u2019s", "n't", "'x", "'l", "'r"]
DIGITS = ["0", "12", "123", "1234", "12345678", "\u0661\u0662\u0663", "\u0967\u0968", "\u00b2\u00b3\u00b9", "\u00bd",
          "\u2167", "\u3007", "\u4e00\u4e8c", "\U0001d7d8", "\U00011de0", "\U00010d40", "\uff11", "\u2460", "3.14",
          "1,000"]
MARKS = ["e\u0301", "\u0301", "\u0301\u0323", "\u0323\u0301", "a\u0328\u0301", "\u1ea5", "\u1e69", "s\u0307\u0323",
         "\u1100\u1161\u11a8", "\uac00\u11a8", "\u1100\u1161", "\u212b", "\u2126", "\u0344", "\u0958", "\U0001d15e",
         "\u0f71\u0f72", "\ufb1d", "\u09c7\u09be", "\u0340", "\u0345\u0301", "q\u0307\u0323\u0301\u0328",
         "\u0308" * 40 + "\u0323" * 3, "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0c46\u0c56", "\u2260", "\u226e",
         "<\u0338", "\uf900", "\U0002f800", "\u0cc6\u0cc2\u0cd5", "\u0dd9\u0dcf\u0dca"]
SYMBOLS = ["!", "...", "#!/", "==", "->", "$", "\u20ac", "\u00ab", "\u3001", "\U0001f600", "\U0001f1e9\U0001f1ea", "_",
           "-", "<", "<|", "|>", ">", "[", "]", "\\", "\x00", "\x01", "\x7f", "\ufffd", "\U0010ffff", "\ue000",
           "\U000f1234", "\u0378", "\U00040000", "\U000c0001"]


def catalogues(most=400_000):
    """Messages of the programs installed here in other languages, where there are any."""
    texts = []
    for language in "de ru el ar he fa hi th zh_CN ja ko ka ta bn te vi am".split():
        found = 0
        for path in sorted(glob.glob(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo"))[:12]:
            try:
                with open(path, "rb") as stream:
                    messages = gettext.GNUTranslations(stream)._catalog.values()
            except (OSError, UnicodeDecodeError, ValueError):
                continue
            for message in messages:
                if isinstance(message, str) and message and found < most // 16:
                    texts.append(message)
                    found += len(message)
    return texts


def prose():
    """Texts to learn a vocabulary from, and to cut pieces from."""
    texts = list(ARTICLES)
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("compiler/text/*.cpp")]):
        texts += path.read_text(encoding="utf-8").split("\n\n")
    return texts


def character(rng):
    kind = rng.randrange(8)
    if kind < 2:
        return chr(rng.randrange(0x20, 0x7f))
    if kind == 2:
        return chr(rng.randrange(0x3000))
    if kind == 3:
        return chr(rng.choice((0x300, 0x590, 0x610, 0x900, 0xe30, 0x1dc0, 0x20d0, 0x302a, 0xa8e0)) + rng.randrange(32))
    if kind == 4:
        return chr(rng.randrange(0xac00, 0xd7a4))
    while True:
        c = rng.randrange(0x10000 if kind < 7 else 0x110000)
        if not 0xd800 <= c < 0xe000:
            return chr(c)


def strings(count, seed, extra=()):
    """`count` different texts; `extra`: pieces that mean something to the tokenizer, such as its added tokens."""
    rng = random.Random(seed)
    texts = prose() + catalogues(100_000)
    pools = [SPACES, CONTRACTIONS, DIGITS, MARKS, SYMBOLS, list(extra) or SYMBOLS]

    def part(longest):
        """Of a text in any language as often as of one in English or a program."""
        text = rng.choice(ARTICLES if rng.random() < 0.5 else texts)
        begin = rng.randrange(len(text))
        return text[begin:begin + rng.randrange(1, longest)]

    def piece():
        kind = rng.randrange(10)
        if kind < 6:
            found = rng.choice(pools[kind])
            if kind == 5 and rng.random() < 0.3:
                found = found[rng.randrange(len(found)):] if rng.random() < 0.5 else found[:rng.randrange(len(found) + 1)]
            return found
        if kind < 8:
            return character(rng)
        return part(30)

    result = dict.fromkeys(["", " ", "\n", "a", "'", "\u2581", " a", "\u0301", *ARTICLES])
    while len(result) < count:
        kind = rng.randrange(20)
        if kind < 4:
            text = part(400)
        elif kind < 5:
            text = "".join(character(rng) for _ in range(rng.randrange(40)))
        elif kind < 6:
            text = piece() * rng.randrange(1, 60) + piece()
        elif kind < 7:
            text = (piece() + piece()) * rng.randrange(1, 30)
        else:
            text = "".join(piece() for _ in range(rng.randrange(1, 14)))
        result[text] = None
    return list(result)[:count]
