import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { Gateway } from "../fakes/gateway.ts";

const server = join(import.meta.dirname, "../fakes/parts-server.ts");
const partBytes = 1_000_000;
const parts = Number(process.env["POSTERN_MEGABYTES"] ?? 200);
/**
 * The host's memory may grow only by what a few parts and the garbage between two collections need, and by nothing that
 * grows with the file. It is far less than the 200 MB that the script reads.
 */
const mostGrownBytes = 112 * 2 ** 20;

async function started(): Promise<Gateway> {
  const gateway = new Gateway();
  const file = join(gateway.folder, "postern.yaml");
  const config = parse(readFileSync(file, "utf8"));
  const idempotent = { risk: "safe", effects: "read", idempotent: true };
  config.servers.parts = {
    command: process.execPath,
    args: [server, join(gateway.folder, "copy"), String(partBytes)],
    tools: {
      read_part: idempotent,
      weigh_part: idempotent,
      digest: { ...idempotent, idempotent: false },
      append_part: { risk: "safe", effects: "write", idempotent: false },
    },
  };
  config.chains = { engines: ["quickjs"], limits: { max_tool_calls: 1000 } };
  writeFileSync(file, stringify(config));
  await gateway.start();
  return gateway;
}

it("a script reads 200 MB by reference, asks a person, is killed, and writes them back", async () => {
  await using gateway = await started();
  const path = join(gateway.folder, "script.ts");
  writeFileSync(
    path,
    `const handles: { ref?: string; text: string }[] = [];
    for (let part = 0; part < ${parts}; part++) handles.push(await tools.parts.read_part({ part }));
    const sum = await tools.everything.get_sum({ a: 20, b: 22 });
    await tools.filesystem.write_file({ path: ${JSON.stringify(gateway.file("asked.txt"))}, content: sum.text });
    for (const handle of handles) await tools.parts.append_part({ text: handle });
    return [handles.every(({ ref }) => ref !== undefined), handles.reduce((held, { text }) => held + text.length, 0), (await tools.parts.digest({})).text];`,
  );
  const before = await warm(gateway);
  const pending = await gateway.command("chain", "run", path, "--json");
  expect(pending.code, pending.out + pending.err).toBe(4);
  const read = residentOf(gateway);
  const { approval_id: approval } = JSON.parse(pending.out);
  await gateway.killAndStart();
  await (await gateway.operator()).approvals.approve({ id: approval });
  await gateway.killAndStart();
  const again = await warm(gateway);
  const done = await gateway.command("chain", "run", path, "--json");
  const written = residentOf(gateway);
  console.info(
    `Resident bytes grew by ${mebibytes(read.peak - before.now)} reading (${mebibytes(read.now - before.now)} stayed), ${mebibytes(written.peak - again.now)} writing (${mebibytes(written.now - again.now)} stayed).`,
  );
  expect(done.code, done.out + done.err).toBe(0);
  expect(JSON.parse(done.out).text).toMatch(/^\[true,\d{1,6},"[0-9a-f]{64}"\]/);
  expect(readFileSync(join(gateway.folder, "copy")).length).toBe(parts * partBytes);
  expect(read.peak - before.now).toBeLessThan(mostGrownBytes);
  expect(written.peak - again.now).toBeLessThan(mostGrownBytes);
}, 600_000);

/** Reads a few parts and resets the peak, so that memory that is needed once does not count. */
async function warm(gateway: Gateway): Promise<ReturnType<typeof residentOf>> {
  const path = join(gateway.folder, "warm.js");
  writeFileSync(
    path,
    "for (let part = 0; part < 20; part++) await tools.parts.weigh_part({ text: await tools.parts.read_part({ part }) })",
  );
  const { code, out, err } = await gateway.command("chain", "run", path, "--key", `warm ${gateway.pid}`);
  expect(code, out + err).toBe(0);
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
  return residentOf(gateway);
}

function residentOf({ pid }: Gateway): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
