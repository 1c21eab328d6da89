import { quickJsDriver } from "../src/chains/drivers/javascript/driver.ts";
const driver = await quickJsDriver({ warm: 1 });
const limits = { cpuMs: 3_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 20_000, wallMs: 20_000 };
for (const count of [1, 100, 300, 1000, 3000]) {
  const tools = Array.from({ length: count }, (_, n) => {
    const server = `server${Math.floor(n / 50)}`, short = ["list", "read", "search", "create", "update", "delete"][n % 6] + "_" + ["issue", "customer", "order", "invoice", "file"][n % 5] + "_" + n;
    return { name: `${server}__${short}`, server, short, description: "", inputSchema: {} };
  });
  const source = `const r = await tools.${tools[0]!.server}.${tools[0]!.short}({ n: 1 }); r`;
  const took: number[] = [];
  let size = 0;
  for (let i = 0; i < 6; i++) {
    const t = performance.now();
    await using session = await driver.start({ language: "javascript", source, tools, chainId: "chain_" + i }, limits);
    await session.next();
    took.push(performance.now() - t);
    size = (await session.freeze()).length;
  }
  console.log(count, size, took.map((t) => t.toFixed(1)).join(" "));
}
await driver[Symbol.asyncDispose]();
