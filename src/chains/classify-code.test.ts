import { describe, expect, it } from "vitest";
import { classifyCode } from "./classify-code.ts";

describe("code classified (case 266)", () => {
  it.each([
    'import pandas as pd\ndf = pd.read_csv("sales.csv")\nprint(df.groupby("region")["amount"].sum())',
    'import json\nwith open("/workspace/a.json") as f:\n    data = json.load(f)\nprint(len(data))',
    'df.to_csv("out.csv", index=False)',
    'with open("/workspace/out.txt", "w", encoding="utf-8") as f:\n    f.write("subprocess.run")  # os.system',
    "total = sum(x ** 2 for x in range(10))\nprint(f'{total:,}')",
    "",
  ])("reading and counting is safe: %s", (code) => {
    expect(classifyCode(code, "python")).toEqual({ risk: "safe", reasons: [] });
  });

  it.each([
    ["import subprocess\nsubprocess.run(['ls'])", "starts processes"],
    ["import os\n\nos.system('ls')", "line 3: starts processes"],
    ["import shutil\nshutil.rmtree('/')", "removes files"],
    ["import requests\nrequests.get('http://x')", "uses the network"],
    ["exec(input())", "runs code made at run time"],
    ["f = open('/etc/passwd', 'w')", "writes `/etc/passwd` outside the workspace"],
    ["open('/etc/passwd').read()", "reads `/etc/passwd` outside the workspace"],
    ["open(name, 'w')", "only known when it runs"],
    ["df.to_csv('../out.csv')", "outside the workspace"],
    ["().__class__.__bases__[0].__subclasses__()", "looks behind objects"],
    ["x = f\"{__import__('os')}\"", "runs code made at run time"],
    ["import pickle\npickle.loads(b)", "loads objects that run code"],
  ])("%s is critical: %s", (code, reason) => {
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

  it("JavaScript by the same measure", () => {
    expect(classifyCode("const a = [1, 2].map((n) => n * 2);\nreturn a;", "javascript").risk).toBe("safe");
    expect(classifyCode("const a: number = 1;", "typescript").risk).toBe("safe");
    for (const code of [
      'require("child_process").execSync("ls")',
      'await fetch("http://x")',
      "[].constructor.constructor('return 1')()",
      'import { rmSync } from "node:fs"; rmSync("/")',
      "process.env.HOME",
      "return ((",
    ])
      expect(classifyCode(code, "javascript").risk, code).toBe("critical");
  });

  it("what nobody reads is critical", () => {
    expect(classifyCode("x = 1\n".repeat(50_000), "python").risk).toBe("critical");
  });
});
