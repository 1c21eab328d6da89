import { describe, expect, it } from "vitest";
import { expectWork } from "../../../test/fakes/in-time.ts";
import { classifyCode } from "./classify-code.ts";

const safePython = [
  'import pandas as pd\ndf = pd.read_csv("sales.csv")\nprint(df.groupby("region")["amount"].sum())',
  'import pandas as pd, io\ndf = pd.read_csv(io.StringIO("a,b"))\nprint(df.rename(columns={"a": "c"}).to_csv())',
  'import json\nwith open("/workspace/a.json") as f:\n    data = json.load(f)\nprint(len(data))',
  'df.to_csv("out.csv", index=False)',
  'with open("/workspace/out.txt", "w", encoding="utf-8") as f:\n    f.write("subprocess.run")  # os.system',
  "total = sum(x ** 2 for x in range(10))\nprint(f'{total:,} {total:>{9}}')",
  'from pathlib import Path\nPath("out/a.txt").write_text("x".replace("x", "y"))',
  "import os\nimport sys\nprint(os.path.join('a', 'b'), file=sys.stderr)",
  "import re\nfrom collections.abc import Iterable\nprint(re.compile('a').sub('b', 'system'))",
  "class A:\n    def __init__(self):\n        self._rows = []\n\nprint(1)",
  "import asyncio\nasyncio.run(asyncio.sleep(0))",
  "import numpy as np\nprint(np.random.rand(3).mean())",
  "",
];

const criticalPython: readonly (readonly [string, string])[] = [
  ["import subprocess\nsubprocess.run(['ls'])", "starts processes"],
  ["import os\n\nos.system('ls')", "line 3: starts processes"],
  ["from os import system\nsystem('rm -rf /')", "starts processes"],
  ["import os as o\no.system('x')", "starts processes"],
  ["import os as o\nprint(o.listdir('/'))", "gives a module another name"],
  ["from os import remove as r\nr('/etc/passwd')", "imports `os.remove`"],
  ["import os\nos.walk('/')", "uses the system"],
  ["import os\nx = os\nx.walk('/')", "uses the system"],
  ["import asyncio\nawait asyncio.create_subprocess_exec('sh')", "starts processes"],
  ["import random\nrandom._os.listdir('/')", "looks behind objects"],
  ["import json\njson.codecs.open('/etc/x', 'w')", "reaches another module"],
  ["import shutil\nshutil.rmtree('/')", "removes files"],
  ["from shutil import copy\ncopy('/etc/passwd', '/tmp/x')", "imports `shutil`"],
  ["import requests\nrequests.get('http://x')", "uses the network"],
  ["import urllib3\nurllib3.PoolManager().request('GET', 'http://x')", "uses the network"],
  ["import boto3\nboto3.client('s3')", "uses the network"],
  ["import smtplib", "uses the network"],
  ["import \\\n  antigravity", "is not known to be harmless"],
  ["from json import (\n  loads)\nfrom . import secrets_of_ours", "imports `.`"],
  ["try:\n    import winreg\nexcept ImportError: pass", "imports `winreg`"],
  ["import sqlite3\nsqlite3.connect('/etc/db')", "imports `sqlite3`"],
  ["import pandas as pd\npd.read_csv('http://evil/x')", "reads `http://evil/x` outside the workspace"],
  ["import pandas as pd\npd.read_csv(name)", "reads from a place that is only known when it runs"],
  ["import pandas as pd\npd.read_csv('a' + name)", "only known when it runs"],
  ["import pandas as pd\npd.read_sql('select 1', con)", "a source that is not looked into"],
  ["exec(input())", "runs code made at run time"],
  ["e = eval\ne('1')", "runs code made at run time"],
  ["𝓮𝓿𝓪𝓵('1')", "runs code made at run time"],
  ["import builtins\nbuiltins.exec('x')", "runs code made at run time"],
  ["f = open\nf('/etc/x', 'w')", "hands `open` on"],
  ["f = open('/etc/passwd', 'w')", "writes `/etc/passwd` outside the workspace"],
  ["open('/etc/passwd').read()", "reads `/etc/passwd` outside the workspace"],
  ["open('\\x2fetc/passwd').read()", "outside the workspace"],
  ["open('/workspace/../etc/x', 'w')", "outside the workspace"],
  ["open(name, 'w')", "only known when it runs"],
  ["open(name)", "only known when it runs"],
  ["from pathlib import Path\np = Path('/etc/x')\np.write_text('y')", "writes to a place that is only known"],
  ["from pathlib import Path\np = Path('/etc')\n(p / 'x').write_text('y')", "writes to a place that is only known"],
  ["from pathlib import Path\np = Path('/etc/x')\nwith p.open('w') as f:\n    f.write('x')", "writes to a place"],
  ["from pathlib import Path\nPath('/etc/x').write_text('y')", "writes `/etc/x` outside the workspace"],
  ["from pathlib import Path\nPath('a').rename('/etc/x')\np.replace('/etc/y')", "writes to a place that is only known"],
  ["df.to_csv('../out.csv')", "outside the workspace"],
  ["df.to_csv(target)", "only known when it runs"],
  ["().__class__.__bases__[0].__subclasses__()", "looks behind objects"],
  ["x = f\"{__import__('os')}\"", "runs code made at run time"],
  ['x = f"{"" + eval("1") + ""}"', "cannot be read"],
  ["# a comment\reval('1')", "runs code made at run time"],
  ["import pickle\npickle.loads(b)", "loads objects that run code"],
];

const safeJavaScript = [
  "const a = [1, 2].map((n) => n * 2);\nreturn a;",
  `const rows = [1]; // fetch the rows, then process them\nconsole.log('fetch failed: eval', rows[0] / 2 / 3, \`n \${rows.length}\`);`,
  "class A { constructor(x) { this.x = x; } }\nreturn new A(/[\"'/]/.test('a') ? 1 : 2).x;",
  'import { groupBy } from "lodash";\nimport path from "node:path";\nexport default groupBy;',
  "const found = /a(b)/g.exec('ab');",
];

const criticalJavaScript = [
  'require("child_process").execSync("ls")',
  'await fetch("http://x")',
  'const f = fetch; f("x")',
  'globalThis["fetch"]("http://x")',
  'const g = window; g["fe" + "tch"]("http://x")',
  '(0,eval)("1")',
  '(0,\\u0065val)("1")',
  "[].constructor.constructor('return 1')()",
  '[]["constructor"]["constructor"]("return 1")()',
  '[]["\\x63onstructor"]["constructor"]("return 1")()',
  'const k = "con" + "structor"; [][k][k]("return 1")()',
  "const { constructor: F } = () => {}; F('return 1')()",
  'const {writeFileSync: w} = await import("fs"); w("/etc/x","y")',
  'import { rmSync } from "node:fs"; rmSync("/")',
  'import axios from "axios"; await axios.get("http://x")',
  'import got from "got"; await got("http://x")',
  "await import(name)",
  'navigator.sendBeacon("x")',
  'new Worker("x")',
  'process["en"+"v"]',
  "process.env.HOME",
  'setTimeout("go()", 1)',
  "<!-- /*\neval('1')\n<!-- */",
  "// a comment\u2028eval('1')",
  `\`} \${ f() + \`'\` + eval('1') + \`'\` }\``,
  'const x = a.return / "/" + eval("1") + "/";',
  "return ((",
];

/** One call in the other, as deep as may be read. */
function closed(part: string): string {
  const times = Math.floor(100_000 / part.length);
  return part.repeat(times) + ")".repeat(times * (part.split("(").length - part.split(")").length));
}

describe("code classified (case 266)", () => {
  it.each(safePython)("reading and counting is safe: %s", (code) => {
    expect(classifyCode(code, "python")).toEqual({ risk: "safe", reasons: [] });
  });

  it.each(criticalPython)("%s is critical: %s", (code, reason) => {
    const { risk, reasons } = classifyCode(code, "python");
    expect(risk).toBe("critical");
    expect(reasons.join("\n")).toContain(reason);
  });

  it.each(["def f(:", "x = 'never ends", "print((1)", "if x\n  pass", "hello world", "x =", '"""'])(
    "what cannot be read is critical: %s",
    (code) => {
      expect(classifyCode(code, "python").risk).toBe("critical");
    },
  );

  it.each(safeJavaScript)("JavaScript that computes is safe: %s", (code) => {
    expect(classifyCode(code, "javascript")).toEqual({ risk: "safe", reasons: [] });
  });

  it.each(criticalJavaScript)("JavaScript by the same measure: %s", (code) => {
    const { risk, reasons } = classifyCode(code, "javascript");
    expect([risk, reasons.length > 0]).toEqual(["critical", true]);
  });

  it("TypeScript is read as JavaScript is", () => {
    expect(classifyCode("const a: number = 1;", "typescript").risk).toBe("safe");
    expect(classifyCode("const a: typeof fetch = fetch;", "typescript").risk).toBe("critical");
  });

  it("what nobody reads is critical, and what is long is read in time", async () => {
    expect(classifyCode("x = 1\n".repeat(50_000), "python").risk).toBe("critical");
    const odd = [
      "case ",
      "const{",
      "import ",
      "a.b.",
      "(a",
      "a(b)",
      "class A(",
      "x=>",
      "f`",
      "{[a",
      ".then(a",
      "extends ",
      "from a import b\n",
    ];
    const parts = [
      ...odd,
      "[",
      "a[",
      "`${",
      "(",
      " ",
      "import(",
      "constructor(",
      ".",
      "f(a,",
      "/a",
      '"',
      "{",
      "\\",
      "a /",
    ];
    await expectWork(20_000, () => {
      for (const part of parts)
        for (const language of ["python", "javascript"] as const)
          classifyCode(part.repeat(Math.floor(200_000 / part.length)), language);
    });
  });

  it("what is nested deep, or odd in a thousand places, is read in time, and twenty reasons are told", async () => {
    const nested = ["f.to_csv(x=", "f.apply(", "f.agg(x=", "open(", "a[b].then((x) => ", ".map(f[k](", "p.replace("];
    const named = ["import a\n", "open(a)\n", "'{a.b}'.format\n", 'from "a" ', "f.apply(a + 'b', 1)\n"];
    await expectWork(10_000, () => {
      for (const part of [
        ...nested.map((one) => closed(one)),
        ...named.map((one) => `import pathlib\n${one.repeat(15_000)}`),
      ])
        for (const language of ["python", "javascript"] as const) classifyCode(part.slice(0, 200_000), language);
      const own = Array.from({ length: 20_000 }, (_, at) => `a${at}()`).join(";");
      classifyCode(`x[y];${own}`, "javascript");
    });
    expect(classifyCode(named.map((one) => one.repeat(500)).join(""), "python").reasons).toHaveLength(20);
  });
});
