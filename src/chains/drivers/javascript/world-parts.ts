/**
 * The parts of a script's world that the engine lacks and most scripts never name. A part is ordinary modules of `world/`,
 * put together as text and evaluated in the engine before a script that names one of its words: every other script, and its
 * image, is the smaller for it.
 */
import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";

interface WorldPart {
  readonly words: RegExp;
  /** In the order in which they need each other. */
  readonly modules: readonly string[];
}

const parts: readonly WorldPart[] = [
  { words: /\b(?:structuredClone|crypto|performance)\b/, modules: ["give", "chance", "clone", "install-plain"] },
  { words: /\b(?:TextEncoder|TextDecoder|Buffer)\b/, modules: ["give", "utf8", "bytes", "install-bytes"] },
  { words: /\bURL(?:SearchParams)?\b/, modules: ["give", "utf8", "query", "host", "url", "install-url"] },
  {
    words: /\b(?:Intl|localeCompare|toLocale(?:Date|Time)?String)\b/,
    modules: ["give", "locale", "numbers", "dates", "collation", "install-intl"],
  },
];
const loaded = new Map<string, Promise<string>>();

/** What is evaluated before this script. */
export async function worldFor(source: string): Promise<readonly string[]> {
  const named = parts.filter(({ words }) => words.test(source));
  return Promise.all(
    named.map(async ({ modules }) => {
      const texts = await Promise.all(modules.map(textOf));
      return `(() => {"use strict";const modules = {};\n${texts.join("\n")}})()`;
    }),
  );
}

function textOf(name: string): Promise<string> {
  const known = loaded.get(name) ?? readModule(name);
  loaded.set(name, known);
  return known;
}

/** A module as a function of those before it: without types, and with what it gives returned. */
async function readModule(name: string): Promise<string> {
  const isSource = import.meta.url.endsWith(".ts");
  const text = await readFile(new URL(`./world/${name}.${isSource ? "ts" : "js"}`, import.meta.url), "utf8");
  const plain = (isSource ? stripTypeScriptTypes(text) : text).replace(/^\/\/# sourceMappingURL=.*$/m, "");
  const given = [...plain.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, exported]) => exported);
  const body = plain
    .replaceAll(/^import \{([^}]*)\} from "\.\/([\w-]+)\.\w+";$/gm, 'const {$1} = modules["$2"];')
    .replaceAll(/^export /gm, "");
  return `modules["${name}"] = (() => {${body}\nreturn { ${given.join(", ")} };})();`;
}
