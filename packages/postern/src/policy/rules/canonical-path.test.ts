import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { corpus } from "../../../../../test/fakes/corpus.ts";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { canonicalParts, pathMatcher, pathPatternProblem } from "./canonical-path.ts";

describe("a path pattern", () => {
  it.each([
    ["/data/**", "/data/a/b.txt", "inside"],
    ["/data/**", "/data", "inside"],
    ["/data/**", "/data/", "inside"],
    ["/data/**", "/data//a/./b", "inside"],
    ["/data/**", "/workspace/a", "outside"],
    ["/data/*", "/data/a", "inside"],
    ["/data/*", "/data/a/b", "outside"],
    ["/data/*", "/data", "outside"],
    ["/data/*.md", "/data/a.md", "inside"],
    ["/data/**/*.md", "/data/a.md", "inside"],
    ["/data/**/*.md", "/data/a/b/c.md", "inside"],
    ["/**/.ssh/**", "/home/ada/.ssh/id", "inside"],
    ["/**/a/**/a", "/a/b/a", "inside"],
    ["/**/a/**/a", "/a/b", "outside"],
    ["notes/**", "notes/a", "inside"],
    ["notes/**", "./notes/a", "inside"],
    ["**", "a/b", "inside"],
    ["/**", "/", "inside"],
    ["acme/*", "acme/widgets", "inside"],
  ])("%s says of %s: %s", (pattern, path, answer) => {
    expect(pathMatcher([pattern])(path)).toBe(answer);
  });

  it.each([
    "/data/../etc/passwd",
    "/data/a/..",
    "../data/a",
    "/data\\..\\etc",
    "/data/a\0.txt",
    "/data/%2e%2e/etc",
    "/data/%252e%252e/etc",
    "~/data",
    "file:///data/a",
    "C:/data/a",
    "",
    "work/a",
  ])("does not judge %j", (path) => {
    expect(pathMatcher(["/data/**"])(path)).toBe("unclear");
  });

  it("checks a relative value if relativeTo is set", () => {
    expect(pathMatcher(["/data/**"], "/data/run")("notes/a")).toBe("inside");
    expect(pathMatcher(["/data/**"], "/home")("notes/a")).toBe("outside");
    expect(pathMatcher(["/data/**"], "/data")("../etc")).toBe("unclear");
    expect(pathMatcher(["/data/**"], "/home")("/data/a")).toBe("inside");
  });

  it.each(["/data/../a", "/a**", "/data\\a", "~/a", "", "file:///a", "/a\0"])("is not %j", (pattern) => {
    expect(pathPatternProblem(pattern)).toMatch(/^not c/);
  });

  it("matches what the obvious regular expression matches", async () => {
    const part = fc.constantFrom("a", "b", "ab", "*", "a*", "**");
    const name = fc.constantFrom("a", "b", "ab", "ba");
    await fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.array(name, { maxLength: 6 }), (parts, names) => {
        const body = parts.map((one) => (one === "**" ? "(?:[^/]+/)*" : `${one.replaceAll("*", "[^/]*")}/`));
        const expected = new RegExp(`^/${body.join("")}$`).test(`/${names.map((one) => `${one}/`).join("")}`);
        expect(pathMatcher([`/${parts.join("/")}`])(`/${names.join("/")}`)).toBe(expected ? "inside" : "outside");
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes no longer for a pattern made to stall", async () => {
    const judged = (): string => pathMatcher([`${"/**/a".repeat(500)}/b`])("/a".repeat(5_000));
    await expectWork(1_000, () => expect(judged()).toBe("outside"));
  });
});

describe("published attacks", () => {
  const payloads = corpus<{ readonly p: string }>("path-traversal/payloads.dev.json");
  const decoded = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  it.skipIf(payloads.length === 0)("never lie inside, raw, decoded once or twice, or behind the root", () => {
    const inside = pathMatcher(["/data/**"]);
    const beneath = pathMatcher(["/data/**"], "/data");
    for (const { p } of payloads)
      for (const once of [p, decoded(p), decoded(decoded(p))])
        for (const path of [once, `/data/${once}`])
          for (const answer of [inside(path), beneath(path)]) {
            if (answer !== "inside") continue;
            const real = posix.resolve("/data", path);
            expect(real === "/data" || real.startsWith("/data/"), path).toBe(true);
            expect(path, path).not.toMatch(/(^|\/)\.\.(\/|$)|\\|\0/);
          }
  });

  const rows = corpus<{ readonly path: unknown; readonly allowed: unknown; readonly expect: boolean }>(
    "mcp-filesystem/path_validation.dev.json",
  );
  it.skipIf(rows.length === 0)("of a file server are judged as its own tests judge them, or not at all", () => {
    let judged = 0;
    for (const row of rows) {
      const { path, allowed } = row;
      if (typeof path !== "string" || !Array.isArray(allowed)) continue;
      const patterns = allowed.filter((root): root is string => typeof root === "string" && root.startsWith("/"));
      const usable = patterns
        .map((root) => `${root.replace(/\/+$/, "")}/**`)
        .filter((one) => pathPatternProblem(one) === undefined);
      const answers = usable.map((pattern) => pathMatcher([pattern])(path));
      if (answers.includes("inside")) expect(row.expect, path).toBe(true);
      else if (row.expect && usable.length > 0) expect(canonicalParts(path), path).toBeUndefined();
      judged += 1;
    }
    expect(judged).toBeGreaterThan(20);
  });
});
