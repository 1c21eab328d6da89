import type { EngineUnderTest } from "./engine-fixture.ts";

/** The same script in the languages of the engines. */
export const scriptsByName: Readonly<Record<string, Readonly<Record<EngineUnderTest["language"], string>>>> = {
  echo: {
    javascript: 'const r = await tools.echo({ text: "hi" }); return r.text;',
    python: 'r = tools.echo(text="hi")\nr.text',
  },
  prelude: {
    javascript: `const one = await tools.echo({ text: "a" });
      return [typeof tools.echo, typeof tools.query_db, one instanceof ToolResult, typeof artifacts.put, typeof help].join();`,
    python:
      "one = tools.echo(text='a')\ntwo = tools.query_db(text='b')\n','.join([one.text, str(len(two.structured['rows'])), one.status])",
  },
  printsAndAnswers: {
    javascript: 'await tools.note({ text: "1" }); for (let n = 0; n < 1000; n++) console.log("row " + n); return 42;',
    python: 'tools.note(text="1")\nfor n in range(1000):\n    print(f"row {n}")\n42',
  },
  printsAndFails: {
    javascript:
      'await tools.note({ text: "1" }); for (let n = 0; n < 1000; n++) console.log("row " + n); throw new Error("boom");',
    python: 'tools.note(text="1")\nfor n in range(1000):\n    print(f"row {n}")\nraise ValueError("boom")',
  },
  fails: {
    javascript: 'await tools.echo({ text: "a" }); throw new Error("boom");',
    python: 'tools.echo(text="a")\nraise ValueError("boom")',
  },
  denied: {
    javascript: `try { await tools.mail({ text: "x" }); return "sent"; }
      catch (error) { return [error instanceof ToolDenied, error.code].join(); }`,
    python:
      "try:\n    tools.mail(text='x')\n    r = 'sent'\nexcept PermissionError as error:\n    r = 'permission: ' + str(error)\nr",
  },
  unknown: {
    javascript: "try { await tools.ehco({}); } catch (error) { return error.message; }",
    python: "try:\n    tools.ehco(text='x')\nexcept Exception as error:\n    r = str(error)\nr",
  },
  handle: {
    javascript: `const big = await tools.report({});
      const counted = await tools.count({ text: big });
      return [big.ref !== undefined, big.text.length < 5000, counted.structured.characters].join();`,
    python:
      "big = tools.report()\ncounted = tools.count(text=big)\n[big.ref != '', len(big.text) < 5000, counted.structured['characters']]",
  },
  crashes: {
    javascript:
      'await tools.note({ text: "1" }); await tools.echo({ text: "2" }); null.x; await tools.note({ text: "3" });',
    python: "tools.note(text='1')\ntools.echo(text='2')\n1 / 0\ntools.note(text='3')",
  },
  many: {
    javascript: `let done = 0;
      try { for (let n = 0; n < 51; n++) { await tools.note({ text: String(n) }); done += 1; } }
      catch (error) { return done + " " + error.code + " " + error.message; }`,
    python:
      "done = 0\nsaid = ''\ntry:\n    for n in range(51):\n        tools.note(text=str(n))\n        done += 1\nexcept Exception as error:\n    said = str(error)\nf'{done} {said}'",
  },
  sleeps: {
    javascript: 'await tools.note({ text: "1" }); await tools.hold({}); return "never";',
    python: "tools.note(text='1')\ntools.hold()\n'never'",
  },
  loops: { javascript: "while (true) {}", python: "while True:\n    pass" },
  prints: { javascript: 'console.log("hello", 1); return 42;', python: "print('hello', 1)\n42" },
  materializes: {
    javascript: `const paths = [await (await tools.echo({ text: "short" })).materialize(), await (await tools.report({})).materialize()];
      return paths.map((path) => [path.startsWith("/workspace/"), files.read(path).length].join(":")).join();`,
    python: `paths = [tools.echo(text='short').materialize(), tools.report().materialize()]
','.join('%s:%d' % (str(p.startswith('/workspace/')).lower(), len(open(p).read())) for p in paths)`,
  },
  puts: {
    javascript: `files.write("/workspace/a.png", "made here");
      const put = await artifacts.put("/workspace/a.png", "image/png");
      return (await tools.count({ text: put })).structured.characters;`,
    python:
      "open('/workspace/a.png', 'w').write('made here')\nput = artifacts.put('/workspace/a.png', 'image/png')\ntools.count(text=put).structured['characters']",
  },
  sets: { javascript: "globalThis.leftover = 1; return 1;", python: "leftover = 1\nleftover" },
  finds: {
    javascript: "return typeof leftover;",
    python: "try:\n    r = leftover\nexcept Exception:\n    r = 'undefined'\nr",
  },
  outside: {
    javascript: `const said = [];
      for (const path of ["../../etc/passwd", "/etc/passwd", ""]) try { said.push(await artifacts.put(path)); } catch (error) { said.push("refused"); }
      return said.join();`,
    python:
      "said = []\nfor path in ['../../etc/passwd', '/etc/shadow', '']:\n    try:\n        said.append(artifacts.put(path, 'text/plain'))\n    except Exception as error:\n        said.append('refused')\n','.join(str(s) for s in said)",
  },
};
