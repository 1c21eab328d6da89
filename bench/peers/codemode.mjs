/** Cloudflare's code mode executor, in the workerd that Miniflare starts: a fresh isolate a script, in one process. */
import { DynamicWorkerExecutor } from "@cloudflare/codemode";

export default {
  async fetch(request, env) {
    const calls = Number(new URL(request.url).searchParams.get("calls"));
    if (calls === 0) return Response.json({ result: 0 });
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout: 60_000 });
    const fns = { echo: async ({ i }) => ({ text: String(i) }) };
    const code = `async () => { let n = 0; for (let i = 0; i < ${calls}; i++) { await codemode.echo({ i }); n++; } return n; }`;
    return Response.json(await executor.execute(code, [{ name: "codemode", fns }]));
  },
};
