/** How long scripts of so many calls take in Cloudflare's executor: what a request without a script takes is taken off. */
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export async function codemode(rounds) {
  const entryPoints = [new URL("codemode.mjs", import.meta.url).pathname];
  const { outputFiles } = await build({
    ...{ entryPoints, bundle: true, format: "esm", write: false, logLevel: "silent" },
    external: ["cloudflare:workers"],
  });
  const began = performance.now();
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "codemode.mjs", contents: outputFiles[0].text }],
    ...{ compatibilityDate: "2026-04-20", compatibilityFlags: ["nodejs_compat"], workerLoaders: { LOADER: {} } },
  });
  const ask = async (calls) => {
    const begun = performance.now();
    const response = await miniflare.dispatchFetch(`http://codemode/?calls=${calls}`);
    const { result, error } = await response.json();
    if (result !== calls) throw new Error(`It answered ${result} for ${calls} calls: ${error}`);
    return performance.now() - begun;
  };
  try {
    await ask(0);
    const first = performance.now() - began;
    await ask(1);
    const times = { none: [], one: [], fifty: [], many: [] };
    for (let i = 0; i < rounds; i++) {
      times.none.push(await ask(0));
      times.one.push(await ask(1));
      times.fifty.push(await ask(50));
      times.many.push(await ask(2_000));
    }
    return { startMs: first, ...times };
  } finally {
    await miniflare.dispose();
  }
}
