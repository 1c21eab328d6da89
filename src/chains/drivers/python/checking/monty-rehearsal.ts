/** What a checker reads before any script: most of Python's library that scripts use, so that it need not learn it while one waits. */
import { pythonStubs } from "./stubs.ts";

/** What a process is told at its start that shall read scripts and run none. */
export const checkerRole = "checker";

const types = ["string", "integer", "number", "boolean", "array", "object"];
const tool = {
  ...{ name: "files_read", server: "files", short: "read", description: "" },
  inputSchema: {
    properties: Object.fromEntries(types.map((type) => [type, { type }])),
    required: ["string"],
  },
};

const script = `import asyncio
import json
import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

def total(rows: list[dict[str, Any]], most: Optional[float] = None) -> float:
    found = sum(float(row["n"]) for row in rows if row.get("n") is not None)
    return found if most is None else min(found, most)

def pick(values, first=0, *more, **options):
    best = None
    for value in values:
        if best is None or value > best:
            best = value
    return best or first

results = await asyncio.gather(*[files_read(string=str(n)) for n in range(3)])
texts = [each.text for each in results]
rows = []
for n in range(2):
    try:
        r = tools.files.read(string=f"{n:02d}", integer=n, number=0.5, boolean=n > 1, array=[1], object={"a": 1})
        data = json.loads(r.text)
        rows.append({"n": data["n"], "name": data.get("name", "").strip().upper().split(",")[0], "size": len(r.text)})
    except PermissionError as error:
        print("refused", str(error))
    except Exception as error:
        print("failed", error)
rows.sort(key=lambda row: row["n"], reverse=True)
kept = {}
counts: dict[str, int] = {}
for at, row in enumerate(rows):
    kept.setdefault(row["name"], []).append(row)
    counts[row["name"]] = counts.get(row["name"], 0) + 1
words = [word.lower() for word in re.findall(r"[a-z]+", " ".join(kept.keys())) if word not in ("a", "b")]
unique = set(words) | {"c"}
while len(words) > 3 and not unique:
    words.pop()
for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:5]:
    print(f"{name}: {count}", count / 2, round(count * 1.5, 2), math.floor(count), count // 2 % 3, sep=" ")
moment = datetime.now(timezone.utc) - timedelta(days=1)
first, *rest = zip([1, 2], ("a", "b"))
lines = "a\\nb".splitlines()[1:]
shown = {key: len(value) for key, value in kept.items()}
print(moment.isoformat(), moment.strftime("%Y"), json.dumps({"a": [*rest]}, indent=2), lines[-1].startswith("b"))
if isinstance(data, dict) and any(value > 1 for value in shown.values()) and all(words):
    numbers = [int("1")] + [abs(-1), max(1, 2), max(counts.values()), sum(counts.values())]
    numbers.extend(reversed([1]))
elif re.match(r"\\d+", "1") is None and total(rows) >= pick([1.0]):
    raise ValueError("none")
else:
    numbers = [x ** 2 for x in [1, 0] if x]
match = re.search(r"(\\w+)", texts[0])
if match:
    print(match.group(1).replace("a", "b").title(), "-".join(sorted(unique)), numbers[0] if numbers else "none")
{"rows": rows, "count": len(rows), "total": total(rows)}
`;

export function rehearsedText(): string {
  return `${pythonStubs([tool], script)}${script}`;
}
