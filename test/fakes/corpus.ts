/**
 * Published collections of attacks, proofs and odd texts. Nobody of this project wrote them, and we do not publish them
 * again: whoever has them puts each as a JSON array into the folder that POSTERN_CORPORA names. Without them the tests
 * that need them are skipped, and say so.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Collection {
  readonly about: string;
  /** The repository on GitHub, and what to read in it. */
  readonly source: string;
  readonly licence: string;
  /** One element of the array. */
  readonly row: string;
}

const agentTools = {
  toolEmu: "enkryptai/xInjectAgent (the tools of ToolEmu and InjecAgent)",
  dojo: "ethz-spylab/agentdojo, the default suites",
};

const collections = {
  "confusables/to_ascii.dev.json": {
    about: "letters that look like ASCII letters",
    ...{ source: "vhf/confusable_homoglyphs, the data of Unicode UTS #39", licence: "MIT, data: Unicode" },
    row: '{"ascii": letter, "c": letter that looks like it}',
  },
  "json-test-suite/parsing.dev.json": {
    about: "valid, invalid and doubtful JSON texts",
    ...{ source: "nst/JSONTestSuite, test_parsing", licence: "MIT" },
    row: '{"name": file, "expect": "y", "n" or "i", "b64": text}, a giant one as "repeat_b64", "times" and "tail_b64"',
  },
  "mcp-filesystem/path_validation.dev.json": {
    about: "paths inside and outside of allowed folders",
    source: "modelcontextprotocol/servers, src/filesystem/__tests__/path-validation.test.ts",
    ...{ licence: "MIT", row: '{"path", "allowed", "expect"}' },
  },
  "merkle-log/rfc6962_proofs.dev.json": {
    about: "valid and invalid proofs of inclusion and consistency",
    ...{ source: "transparency-dev/merkle, testdata", licence: "Apache-2.0", row: '{"name", "v": proof}' },
  },
  "naughty-strings/blns.dev.json": {
    about: "texts that programs often handle wrongly",
    ...{ source: "minimaxir/big-list-of-naughty-strings, blns.json", licence: "MIT", row: "text" },
  },
  "path-traversal/payloads.dev.json": {
    about: "paths that try to leave a folder",
    source: "swisskyrepo/PayloadsAllTheThings and fuzzdb-project/fuzzdb, the lists of path traversal",
    ...{ licence: "MIT; BSD and CC-BY-3.0", row: '{"p": path}' },
  },
  "redos/regexlib_js.dev.json": {
    about: "regular expressions that take exponential time, with the text that shows it",
    ...{ source: "yetingli/ReDoS-Benchmarks, those of RegExLib", licence: "MIT" },
    row: '{"id", "re": expression, "attack_js": JavaScript that makes the text}',
  },
  "root-resolve/go_os_root_cases.dev.json": {
    about: "paths that leave a root or stay in it",
    ...{ source: "golang/go, src/os/root_test.go", licence: "BSD-3-Clause", row: "one case of the table" },
  },
  "root-resolve/libpathrs_cases.dev.json": {
    about: "paths through links, and what they resolve to",
    ...{ source: "cyphar/libpathrs, src/tests/test_resolve.rs", licence: "MPL-2.0 or LGPL-3.0", row: "one case" },
  },
  "root-resolve/libpathrs_tree.dev.json": {
    about: "the tree of files for those cases",
    ...{ source: "cyphar/libpathrs, the tree of src/tests/test_resolve.rs", licence: "MPL-2.0 or LGPL-3.0" },
    row: '{"path", "kind", "target"}',
  },
  "sandbox-escape/vm2_js.dev.json": {
    about: "scripts that left a JavaScript sandbox",
    ...{ source: "patriksimek/vm2, test/ghsa and test/vm.js", licence: "MIT" },
    row: '{"src": file, "code": script}',
  },
  "ssrf/urls.dev.json": {
    about: "addresses that reach a private network",
    source: "swisskyrepo/PayloadsAllTheThings, Server Side Request Forgery",
    ...{ licence: "MIT", row: '{"url", "expect": "block"}' },
  },
  "tool-risk/agentdojo_tools.dev.json": {
    about: "tools of agents",
    ...{ source: agentTools.dojo, licence: "MIT", row: '{"name", "doc", "args"}' },
  },
  "tool-risk/injecagent_tool_results.dev.json": {
    about: "results of tools that carry an instruction",
    ...{ source: agentTools.toolEmu, licence: "MIT", row: '{"result": text}' },
  },
  "tool-risk/toolemu_tools.dev.json": {
    about: "declarations of tools",
    ...{ source: agentTools.toolEmu, licence: "MIT; ToolEmu: Apache-2.0", row: '{"name", "summary", "params"}' },
  },
} satisfies Record<string, Collection>;
type CollectionFile = keyof typeof collections;

const files: readonly CollectionFile[] = Object.keys(collections) as CollectionFile[]; // its own keys
const folder = process.env["POSTERN_CORPORA"] ?? join(import.meta.dirname, "../../../shared/corpora");
const missing = (file: CollectionFile): boolean => !existsSync(join(folder, file));

/** Says of each missing collection what it is and how to get it; undefined when all are here. */
export function missingCollections(): string | undefined {
  const lines = files.filter(missing).map((file) => {
    const { about, source, licence, row } = collections[file];
    return `  ${file}: ${about}; https://github.com/${source} (${licence}); each row: ${row}`;
  });
  if (lines.length === 0) return undefined;
  return [
    "SKIPPED: what tries these published collections. To run it, clone each repository, write the rows as a JSON array",
    "to the file, and set POSTERN_CORPORA to the folder of the files.",
    ...lines,
  ].join("\n");
}

/** Returns the rows of a published collection, and none if it is missing. */
export function corpus<Row>(file: CollectionFile): readonly Row[] {
  return missing(file) ? [] : JSON.parse(readFileSync(join(folder, file), "utf8")); // an array of the table's rows
}

interface JsonText {
  readonly name: string;
  /** A reader accepts it, must not accept it, or may do either. */
  readonly expect: "y" | "n" | "i";
  readonly bytes: Buffer;
}

/** The texts of JSONTestSuite, and none if they are missing. */
export function jsonTexts(): readonly JsonText[] {
  interface Row {
    readonly name: string;
    readonly expect: JsonText["expect"];
    readonly b64?: string;
    readonly repeat_b64?: string;
    readonly times?: number;
    readonly tail_b64?: string;
  }
  return corpus<Row>("json-test-suite/parsing.dev.json").map((row) => {
    const repeated = Buffer.from(row.repeat_b64 ?? "", "base64")
      .toString("latin1")
      .repeat(row.times ?? 0);
    const rest = Buffer.from(row.tail_b64 ?? row.b64 ?? "", "base64");
    return { name: row.name, expect: row.expect, bytes: Buffer.concat([Buffer.from(repeated, "latin1"), rest]) };
  });
}
