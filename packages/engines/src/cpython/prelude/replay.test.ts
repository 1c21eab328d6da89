/** An engine that cannot be frozen runs a script again from its beginning: all that was there before must be there again. */
import { afterAll, expect, it } from "vitest";
import { pythonLimits, pythonProgram, runPython } from "../../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "../cpython.ts";

const driver = new CpythonDriver({ warm: 1 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

const changing: readonly (readonly [what: string, source: string])[] = [
  [
    "the clock",
    "import time\n[time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.strftime('%F %T')]",
  ],
  [
    "the date",
    "import datetime as d\n[str(d.datetime.now()), str(d.datetime.utcnow()), str(d.date.today()), str(d.datetime.now(d.timezone.utc))]",
  ],
  [
    "chance",
    "import random\n[random.random(), random.Random().random(), random.SystemRandom().random(), random.choice('abc')]",
  ],
  ["chance that was begun anew", "import random\nrandom.seed()\nrandom.random()"],
  ["identifiers", "import uuid\n[str(uuid.uuid4()), str(uuid.uuid1())]"],
  ["secrets", "import secrets, os\n[secrets.token_hex(8), list(os.urandom(4)), os.getpid()]"],
  ["names of files", "import tempfile\ntempfile.mktemp()"],
  ["hashes and the order of sets", "[hash('a') % 1000, ','.join({'a', 'b', 'c', 'd', 'e'})]"],
  [
    "what an object shows of itself",
    "class A: pass\nclass B:\n    __slots__ = ('x',)\n[str(A()), repr([A(), B()]), str({A(), A(), A()}), hash(A()) == hash(A())]",
  ],
];

it.skipIf(missing !== undefined).each(changing)(
  "a script that is run again finds %s as it was",
  async (_what, source) => {
    const [first, second] = [await runPython(driver, source), await runPython(driver, source)];
    expect(first.last).toMatchObject({ step: "done", value: expect.anything() });
    expect(second.last).toEqual(first.last);
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "another script has other chances",
  async () => {
    const ends = [];
    for (const chainId of ["chain_1", "chain_2"]) {
      await using session = await driver.start(
        { ...pythonProgram("import uuid\nstr(uuid.uuid4())"), chainId },
        pythonLimits,
      );
      ends.push(await session.next());
    }
    expect(ends[0]).not.toEqual(ends[1]);
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "a script's clock begins when it was sent, never stands, and a sleep takes its time on it",
  async () => {
    const source = `import asyncio, time
from datetime import datetime, timezone
begun, looked = datetime.now(timezone.utc), time.monotonic()
time.sleep(0.05)
await asyncio.sleep(0.05)
try:
    await asyncio.wait_for(asyncio.sleep(9), 0.05)
except asyncio.TimeoutError:
    pass
[begun.isoformat(timespec="seconds"), round(time.monotonic() - looked, 2), type(begun) is datetime, time.time() < time.time()]`;
    expect((await runPython(driver, source)).last).toMatchObject({
      value: ["2026-11-20T09:30:00+00:00", 0.15, true, true],
    });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "classes stay what they are in Python: what they show, what can be hashed, what they are made of",
  async () => {
    const source = `import dataclasses, enum, random, typing
@dataclasses.dataclass
class Row:
    name: str = "x"
class Same:
    def __eq__(self, other): return True
class Colour(enum.Enum):
    RED = 1
class Point(typing.NamedTuple):
    x: int
class Failure(Exception): pass
class A: pass
a = A()
def hashed(thing):
    try:
        return isinstance(hash(thing), int)
    except TypeError:
        return False
random.seed(7)
[repr(Row()), hashed(Row()), hashed(Same()), str(Colour.RED), repr(Point(1)), str(Failure("no")), {a: 1}[a], a == A(), a in {a}, A.__doc__, round(random.random(), 6)]`;
    expect((await runPython(driver, source)).last).toMatchObject({
      value: ["Row(name='x')", false, false, "Colour.RED", "Point(x=1)", "no", 1, false, true, null, 0.323833],
    });
  },
  60_000,
);
